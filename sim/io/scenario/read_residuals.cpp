// Reads the residuals of a group: the values that all its cases share, and a row for each case.
//
// Every prediction reads every row, so all rows of a group are one text, and a row states only the values that differ
// from the row before. As lists and objects of JSON they took more than three times as many instructions.
#include "sim/io/scenario/read_residuals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "sim/base/error.h"
#include "sim/base/noun.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

constexpr char kRowEnd = ';', kValueEnd = '|';  // texts have blanks
constexpr std::string_view kEmptyText = "~";

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
    if (group.is_object())
      if (const auto text = group.find("rows"); text != group.end() && text->is_string())
        rows += 1 + static_cast<std::size_t>(std::ranges::count(text->get_ref<const std::string&>(), kRowEnd));
  return rows;
}

using Keys = std::vector<const trust::PlaceKey*>;

/// The parts of a text between separators.
class Parts {
 public:
  Parts(std::string_view text, char separator) : rest_(text), separator_(separator) {}

  [[nodiscard]] std::string_view next() {
    const std::size_t end = rest_.find(separator_);
    const std::string_view part = rest_.substr(0, end);
    at_end_ = end == std::string_view::npos;
    rest_.remove_prefix(at_end_ ? rest_.size() : end + 1);
    return part;
  }
  /// Returns true after the last part. A separator at the end of the text is followed by one more part.
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  std::string_view rest_;
  char separator_;
  bool at_end_ = false;
};

bool read_value(std::string_view value, const trust::PlaceKey& key, trust::Place& place) {
  if (value.empty()) return false;
  if (const auto* text = std::get_if<foretoken::Word trust::Place::*>(&key.member)) {
    place.*(*text) = value == kEmptyText ? std::string_view() : value;
    return true;
  }
  constexpr double kMost = 1e18;
  const auto number = parse_number<double>(value, 0, kMost);
  if (!number || (*number == 0 && key.scale == trust::Scale::kDoubling)) return false;
  place.*std::get<double trust::Place::*>(key.member) = *number;
  return true;
}

/// Reads the values that all cases share. Returns the keys in which they differ, whose value there is *.
std::optional<Keys> read_shared(std::string_view text, const Keys& keys, trust::Place& place) {
  Parts values(text, kValueEnd);
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

/// Reads the values of a row in the order of `keys`, then log(measured / simulated) in ten-thousandths. `one` is the
/// case of the row before, whose value stays where the row has none. Returns false for a wrong row.
bool read_row(std::string_view row, const Keys& keys, bool is_first, trust::Case& one) {
  constexpr int kParts = 10'000, kMost = 10 * kParts;
  Parts values(row, kValueEnd);
  for (const trust::PlaceKey* key : keys) {
    const std::string_view value = values.next();
    const bool is_same = value.empty() && !is_first;
    if (!is_same && !read_value(value, *key, one.place)) return false;
  }
  const auto ratio = parse_number<int>(values.next(), -kMost, kMost);
  if (!ratio || !values.at_end()) return false;
  one.log_ratio = static_cast<double>(*ratio) / kParts;
  return true;
}

void read_group(const Node& group, const Keys& keys, std::vector<trust::Case>& cases) {
  group.allow_only({"set", "publication", "weight", "all", "rows"});
  trust::Case one;
  one.publication = group.text("publication");
  one.weight = group.number("weight", {.low = 0, .high = 1, .above_low = true});
  const Node shared = group.child("all");
  const auto differ = read_shared(shared.as_text(), keys, one.place);
  if (!differ) return shared.expected("the values of keys, parted by |; write the file anew with foretoken validate");
  const Node list = group.child("rows");
  const std::string text = list.as_text();
  if (!list.is_text()) return;
  Parts rows(text, kRowEnd);
  for (int number = 1; number == 1 || !rows.at_end(); ++number) {
    const std::string_view row = rows.next();
    if (!read_row(row, *differ, number == 1, one)) {
      const std::string values = with_noun(static_cast<std::int64_t>(differ->size()) + 1, "value");
      return list.complain(fmt::format(
          "row {}: expected {} parted by |, the last a whole number, found {}; write it anew with foretoken validate",
          number, values, in_quotes(row)));
    }
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
