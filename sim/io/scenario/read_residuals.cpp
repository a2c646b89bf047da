// Reads the residuals of a group: the values that all its cases share, and a row for each case.
//
// Every prediction reads every row, so a row is one text: its values parted by |. As lists of JSON the rows took a
// prediction three times as many instructions.
#include "sim/io/scenario/read_residuals.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

const trust::PlaceKey* key_named(std::string_view name) {
  const auto keys = trust::place_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

void read_value(const Node& value, const trust::PlaceKey& key, trust::Place& place) {
  constexpr Range kValue{.low = 0, .high = 1e18};
  if (const auto* text = std::get_if<foretoken::Word trust::Place::*>(&key.member))
    place.*(*text) = value.as_text();
  else
    place.*std::get<double trust::Place::*>(key.member) = value.as_number(kValue);
}

// Counts the rows of all groups, right or wrong. A vector that grows case by case touches three times its memory.
std::size_t rows_of(const Node& node) {
  std::size_t rows = 0;
  const auto groups = node.value().find("groups");
  if (groups == node.value().end() || !groups->is_array()) return 0;
  for (const nlohmann::json& group : *groups)
    if (group.is_object() && group.contains("cases")) rows += group["cases"].size();
  return rows;
}

/// Reads the values of a row in the order of `keys`, then log(measured / simulated). Returns false for a wrong row.
bool read_row(std::string_view row, const std::vector<const trust::PlaceKey*>& keys, trust::Case& one) {
  constexpr double kMost = 1e18, kMostLog = 10;
  constexpr char kBetween = '|';  // texts have blanks: "all-to-all, capacity 1"
  const auto next = [&row] {
    const std::string_view word = row.substr(0, row.find(kBetween));
    row.remove_prefix(std::min(word.size() + 1, row.size()));
    return word;
  };
  for (const trust::PlaceKey* key : keys) {
    const std::string_view word = next();
    if (const auto* text = std::get_if<foretoken::Word trust::Place::*>(&key->member)) {
      if (word.empty()) return false;
      one.place.*(*text) = word;
      continue;
    }
    const auto number = parse_number<double>(word, 0, kMost);
    if (!number) return false;
    one.place.*std::get<double trust::Place::*>(key->member) = *number;
  }
  const auto ratio = parse_number<double>(next(), -kMostLog, kMostLog);
  if (!ratio || !row.empty()) return false;
  one.log_ratio = *ratio;
  return true;
}

void read_group(const Node& group, std::vector<trust::Case>& cases) {
  group.allow_only({"set", "publication", "weight", "all", "keys", "cases"});
  trust::Case one;
  one.publication = group.text("publication");
  one.weight = group.number("weight", {.low = 0, .high = 1, .above_low = true});
  const Node shared = group.object("all");
  for (const trust::PlaceKey& key : trust::place_keys())
    if (shared.has(key.name)) read_value(shared.child(key.name), key, one.place);
  std::vector<const trust::PlaceKey*> keys;
  for (const Node& name : group.array("keys")) {
    keys.push_back(key_named(name.as_text()));
    if (keys.back() == nullptr) return name.expected("a key of a place; write the file anew with foretoken validate");
  }
  for (const Node& row : group.array("cases")) {
    if (!read_row(row.as_text(), keys, one))
      return row.expected("the values of keys, and log(measured / simulated), parted by |");
    cases.push_back(one);
  }
}

}  // namespace

trust::Evidence read_residuals(const Node& node) {
  node.allow_only({"about", "switch", "doubling", "growth", "doubt", "widths", "quantiles", "groups"});
  constexpr Range kWeight{.low = 0, .high = 1000};
  trust::Evidence evidence;
  evidence.weights = {.one_switch = node.number("switch", kWeight), .doubling = node.number("doubling", kWeight)};
  evidence.growth = node.number("growth", kWeight);
  evidence.doubt = node.find_number("doubt", {.low = 0, .high = 1000, .above_low = true});
  for (const Node& width : node.array("widths")) {
    width.allow_only({"level", "half"});
    evidence.widths.push_back({width.number("level", kFraction), width.number("half", {.low = 0, .high = 10})});
  }
  const auto has = [&](double level) {
    return std::any_of(evidence.widths.begin(), evidence.widths.end(),
                       [&](const trust::Width& width) { return std::abs(width.level - level) < 1e-9; });
  };
  if (!std::all_of(trust::kLevels.begin(), trust::kLevels.end(), has))
    node.complain("widths", "expected the levels 0.5, 0.8, 0.9 and 0.95; write the file again with foretoken validate");
  for (const Node& quantile : node.array("quantiles")) {
    quantile.allow_only({"part", "error"});
    evidence.quantiles.push_back(
        {quantile.number("part", kFraction), quantile.number("error", {.low = -10, .high = 10})});
  }
  const auto same_part = [](const trust::Quantile& quantile, double part) {
    return std::abs(quantile.part - part) < 1e-9;
  };
  if (!std::ranges::equal(evidence.quantiles, trust::kParts, same_part))
    node.complain("quantiles", "expected the parts 0.025 to 0.975; write the file again with foretoken validate");
  evidence.cases.reserve(rows_of(node));
  for (const Node& group : node.array("groups")) read_group(group.as_object(), evidence.cases);
  return evidence;
}

trust::Evidence read_shipped_residuals() {
  const auto file = find_data_file(kResiduals, "residuals");
  if (!file) throw ConfigError({{"residuals", "", unknown_name(kResiduals, "residuals")}});
  Findings findings;
  const auto document = document_from_file(*file, findings);
  findings.throw_if_wrong();
  trust::Evidence evidence = read_residuals(document->root(findings));
  findings.throw_if_wrong();
  return evidence;
}

}  // namespace foretoken::io
