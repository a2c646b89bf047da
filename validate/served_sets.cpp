// Reads sets of published services. A row is the values of the set's columns, then what was measured.
#include "validate/served_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "sim/io/json/document.h"
#include "sim/io/serve/read_service.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::validate {
namespace {

/// A measured column: its quantity, and the unit as a part of the quantity's own.
struct MeasuredColumn {
  std::string_view name;
  trust::Served quantity;
  double unit = 1;
};
constexpr MeasuredColumn kMeasuredColumns[] = {{"ttft_ms", trust::Served::kTtft, 1e-3},
                                               {"tpot_ms", trust::Served::kTpot, 1e-3},
                                               {"latency_ms", trust::Served::kLatency, 1e-3},
                                               {"output_tokens_per_s", trust::Served::kThroughput, 1}};

const MeasuredColumn& measured_column(const io::Node& name) {
  std::vector<std::string> names;
  for (const MeasuredColumn& column : kMeasuredColumns) names.emplace_back(column.name);
  return kMeasuredColumns[name.as_choice(names)];
}

std::string set_text(const std::string& key, const io::Node& value) {
  return key + "=" + (value.is_text() ? value.as_text() : value.value().dump());
}

/// Columns of a set.
struct ServedColumns {
  std::vector<std::string> keys{};
  std::vector<MeasuredColumn> measured{};
};

void add_row(const io::Node& group, const io::Node& row, const ServedColumns& columns, const trust::ServedCase& start,
             std::vector<ServedRow>& rows) {
  const std::vector<io::Node> values = row.as_array();
  if (values.size() != columns.keys.size() + columns.measured.size())
    return row.expected("a value for each column, then one for each measured quantity");
  std::vector<std::string> sets;
  for (std::size_t k = 0; k < columns.keys.size(); ++k) sets.push_back(set_text(columns.keys[k], values[k]));
  const serve::Service service = io::read_service_text(group.object("question").value().dump(), start.set, sets);
  const serve::Prediction run = serve::predict(service);
  if (!run.fits) return;
  trust::ServedCase one = start;
  one.place = study::place_of(service);
  if (one.place.model.starts_with("unnamed")) one.place.model = service.name;
  for (std::size_t m = 0; m < columns.measured.size(); ++m) {
    const MeasuredColumn& column = columns.measured[m];
    one.quantity = column.quantity;
    one.measured = values[columns.keys.size() + m].as_number(io::kPositive) * column.unit;
    one.predicted = study::predicted(run, column.quantity).value_or(one.measured);
    rows.push_back({one, group.boolean_or("fitted", false)});
  }
}

void add_set(const io::Node& root, std::vector<ServedRow>& rows) {
  root.allow_only({"set", "title", "source", "notes", "columns", "measured", "groups"});
  const trust::ServedCase start{.set = root.text("set"), .title = root.text("title")};
  ServedColumns columns;
  for (const io::Node& key : root.array("columns")) columns.keys.push_back(key.as_text());
  for (const io::Node& name : root.array("measured")) columns.measured.push_back(measured_column(name));
  for (const io::Node& entry : root.array("groups")) {
    const io::Node group = entry.as_object();
    for (const io::Node& row : group.array("rows")) add_row(group, row, columns, start, rows);
  }
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

std::string value_json(const trust::ServedKey& key, const trust::ServedPlace& place) {
  if (const auto* text = std::get_if<std::string trust::ServedPlace::*>(&key.member))
    return nlohmann::json(place.*(*text)).dump();
  return number_text(place.*std::get<double trust::ServedPlace::*>(key.member));
}

/// The values of one row: cases of the same place that follow each other.
using RowCases = std::span<const ServedRow>;

std::vector<RowCases> rows_of(std::span<const ServedRow> set) {
  std::vector<RowCases> rows;
  for (std::size_t at = 0; at < set.size();) {
    std::size_t end = at + 1;
    while (end < set.size() && set[end].value.quantity != set[at].value.quantity) ++end;
    rows.push_back(set.subspan(at, end - at));
    at = end;
  }
  return rows;
}

std::string group_json(std::span<const ServedRow> set) {
  std::vector<std::string> shared, names, quantities, cases;
  std::vector<const trust::ServedKey*> keys;
  for (const trust::ServedKey& key : trust::served_keys()) {
    const std::string first = value_json(key, set.front().value.place);
    const bool same =
        std::ranges::all_of(set, [&](const ServedRow& row) { return value_json(key, row.value.place) == first; });
    if (same) {
      shared.push_back(fmt::format("\"{}\": {}", key.name, first));
    } else {
      keys.push_back(&key);
      names.push_back(fmt::format("\"{}\"", key.name));
    }
  }
  const std::vector<RowCases> rows = rows_of(set);
  for (const ServedRow& one : rows.front()) quantities.push_back(fmt::format("\"{}\"", name_of(one.value.quantity)));
  for (const RowCases& row : rows) {
    std::vector<std::string> values;
    for (const trust::ServedKey* key : keys) values.push_back(value_json(*key, row.front().value.place));
    for (const ServedRow& one : row) {
      values.push_back(number_text(one.value.measured));
      values.push_back(number_text(one.value.predicted));
    }
    cases.push_back(fmt::format("[{}]", fmt::join(values, ", ")));
  }
  return fmt::format(
      "{{\"set\": {}, \"title\": {}, \"all\": {{{}}},\n \"keys\": [{}], \"quantities\": [{}], \"cases\": [\n{}]}}",
      nlohmann::json(set.front().value.set).dump(), nlohmann::json(set.front().value.title).dump(),
      fmt::join(shared, ", "), fmt::join(names, ", "), fmt::join(quantities, ", "), fmt::join(cases, ",\n"));
}

}  // namespace

std::vector<ServedRow> predict_served_sets() {
  std::vector<ServedRow> rows;
  for (const std::string& name : io::list_names(kServedSets)) {
    io::Findings findings;
    const auto document = io::document_from_file(*io::find_data_file(kServedSets, name), findings);
    if (document) add_set(document->root(findings), rows);
    findings.throw_if_wrong();
  }
  return rows;
}

std::string served_residuals_json(const std::vector<ServedRow>& rows) {
  std::vector<trust::ServedCase> cases;
  std::vector<std::string> widths, groups;
  for (const ServedRow& row : rows) cases.push_back(row.value);
  for (const trust::ServedWidth& width : trust::calibrate_served(cases))
    widths.push_back(fmt::format("{{\"quantity\": \"{}\", \"growth\": {}, \"half\": {:.4f}}}", name_of(width.quantity),
                                 width.growth, width.half));
  const std::span<const ServedRow> all = rows;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t end = at;
    while (end < all.size() && all[end].value.set == all[at].value.set) ++end;
    groups.push_back(group_json(all.subspan(at, end - at)));
    at = end;
  }
  return fmt::format(
      "{{\n\"about\": \"Generated by foretoken validate --write-docs; do not edit. Cases: the values of keys, then "
      "measured and predicted of each quantity, in seconds or output tokens a second.\",\n\"widths\": [{}],\n"
      "\"groups\": [\n{}\n]\n}}\n",
      fmt::join(widths, ", "), fmt::join(groups, ",\n"));
}

}  // namespace foretoken::validate
