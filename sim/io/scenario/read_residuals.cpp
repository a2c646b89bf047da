// Reads the residuals of a group: the values that all its cases share, and a row for each case.
//
// Every prediction reads every row, so the values of a row are one text. As lists and objects of JSON they took three
// times as many instructions.
#include "sim/io/scenario/read_residuals.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
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

// Counts the rows of all groups, right or wrong. A vector that grows case by case touches three times its memory.
std::size_t rows_of(const Node& node) {
  std::size_t rows = 0;
  const auto groups = node.value().find("groups");
  if (groups == node.value().end() || !groups->is_array()) return 0;
  for (const nlohmann::json& group : *groups)
    if (group.is_object() && group.contains("cases")) rows += group["cases"].size();
  return rows;
}

using Keys = std::vector<const trust::PlaceKey*>;

/// The values of a text, parted by |: texts have blanks.
class Values {
 public:
  explicit Values(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view next() {
    const std::string_view value = rest_.substr(0, rest_.find('|'));
    rest_.remove_prefix(std::min(value.size() + 1, rest_.size()));
    return value;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool read_value(std::string_view value, const trust::PlaceKey& key, trust::Place& place) {
  if (const auto* text = std::get_if<foretoken::Word trust::Place::*>(&key.member)) {
    place.*(*text) = value;
    return true;
  }
  constexpr double kMost = 1e18;
  const auto number = parse_number<double>(value, 0, kMost);
  if (number) place.*std::get<double trust::Place::*>(key.member) = *number;
  return number.has_value();
}

/// Reads the values that all cases share. Returns the keys in which they differ, whose value there is *.
std::optional<Keys> read_shared(std::string_view text, const Keys& keys, trust::Place& place) {
  Values values(text);
  Keys differ;
  for (const trust::PlaceKey* key : keys) {
    const std::string_view value = values.next();
    if (value == "*")
      differ.push_back(key);
    else if (!read_value(value, *key, place))
      return std::nullopt;
  }
  return values.at_end() ? std::optional(differ) : std::nullopt;
}

/// Reads the values of a row in the order of `keys`, then log(measured / simulated). Returns false for a wrong row.
bool read_row(std::string_view row, const Keys& keys, trust::Case& one) {
  constexpr double kMostLog = 10;
  Values values(row);
  for (const trust::PlaceKey* key : keys)
    if (!read_value(values.next(), *key, one.place)) return false;
  const auto ratio = parse_number<double>(values.next(), -kMostLog, kMostLog);
  if (!ratio || !values.at_end()) return false;
  one.log_ratio = *ratio;
  return true;
}

void read_group(const Node& group, const Keys& keys, std::vector<trust::Case>& cases) {
  group.allow_only({"set", "publication", "weight", "all", "cases"});
  trust::Case one;
  one.publication = group.text("publication");
  one.weight = group.number("weight", {.low = 0, .high = 1, .above_low = true});
  const Node shared = group.child("all");
  const auto differ = read_shared(shared.as_text(), keys, one.place);
  if (!differ) return shared.expected("the values of keys, parted by |; write the file anew with foretoken validate");
  for (const Node& row : group.array("cases")) {
    if (!read_row(row.as_text(), *differ, one))
      return row.expected("the values that differ, and log(measured / simulated), parted by |");
    cases.push_back(one);
  }
}

Keys read_keys(const Node& node) {
  Keys keys;
  for (const Node& name : node.array("keys")) {
    keys.push_back(key_named(name.as_text()));
    if (keys.back() != nullptr) continue;
    name.expected("a key of a place; write the file anew with foretoken validate");
    return {};
  }
  return keys;
}

}  // namespace

trust::Evidence read_residuals(const Node& node) {
  node.allow_only({"about", "switch", "doubling", "growth", "doubt", "widths", "quantiles", "keys", "groups"});
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
  const Keys keys = read_keys(node);
  for (const Node& group : node.array("groups")) read_group(group.as_object(), keys, evidence.cases);
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
