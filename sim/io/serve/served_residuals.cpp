// Reads the residuals of a set: the values that all its cases share, and a row for each case.
#include "sim/io/serve/served_residuals.h"

#include <algorithm>
#include <variant>

#include "sim/base/error.h"
#include "sim/io/json/document.h"
#include "sim/io/scenario/read_residuals.h"

namespace foretoken::io {
namespace {

constexpr Range kServedValue{.low = 1e-9, .high = 1e18};

void read_served_value(const Node& value, const trust::ServedKey& key, trust::ServedPlace& place) {
  if (const auto* text = std::get_if<std::string trust::ServedPlace::*>(&key.member))
    place.*(*text) = value.as_text();
  else
    place.*std::get<double trust::ServedPlace::*>(key.member) = value.as_number(kServedValue);
}

trust::Served read_quantity(const Node& name) {
  std::vector<std::string> names;
  for (const trust::Served quantity : trust::kServed) names.emplace_back(trust::name_of(quantity));
  return trust::kServed.at(static_cast<std::size_t>(name.as_choice(names)));
}

const trust::ServedKey* served_key_named(std::string_view name) {
  const auto keys = trust::served_keys();
  const auto found = std::ranges::find(keys, name, &trust::ServedKey::name);
  return found == keys.end() ? nullptr : &*found;
}

void read_served_group(const Node& group, std::vector<trust::ServedCase>& cases) {
  group.allow_only({"set", "title", "all", "keys", "quantities", "cases"});
  trust::ServedCase one{.set = group.text("set"), .title = group.text("title")};
  const Node shared = group.object("all");
  for (const trust::ServedKey& key : trust::served_keys())
    if (shared.has(key.name)) read_served_value(shared.child(key.name), key, one.place);
  std::vector<const trust::ServedKey*> keys;
  for (const Node& name : group.array("keys")) {
    keys.push_back(served_key_named(name.as_text()));
    if (keys.back() == nullptr) return name.expected("a key of a service; write the file anew with foretoken validate");
  }
  std::vector<trust::Served> quantities;
  for (const Node& name : group.array("quantities")) quantities.push_back(read_quantity(name));
  for (const Node& row : group.array("cases")) {
    const std::vector<Node> values = row.as_array();
    if (values.size() != keys.size() + 2 * quantities.size())
      return row.expected("the values of keys, then what was measured and what is predicted of each quantity");
    for (std::size_t k = 0; k < keys.size(); ++k) read_served_value(values[k], *keys[k], one.place);
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      one.quantity = quantities[q];
      one.measured = values[keys.size() + 2 * q].as_number(kServedValue);
      one.predicted = values[keys.size() + 2 * q + 1].as_number(kServedValue);
      cases.push_back(one);
    }
  }
}

}  // namespace

trust::ServedEvidence read_served_residuals(const Node& node) {
  node.allow_only({"about", "widths", "groups"});
  trust::ServedEvidence evidence;
  for (const Node& width : node.array("widths")) {
    width.allow_only({"quantity", "growth", "half"});
    evidence.widths.push_back({.quantity = read_quantity(width.child("quantity")),
                               .growth = width.number("growth", {.low = 0, .high = 1000}),
                               .half = width.number("half", {.low = 0, .high = 10})});
  }
  for (const Node& group : node.array("groups")) read_served_group(group.as_object(), evidence.cases);
  return evidence;
}

trust::ServedEvidence read_shipped_served_residuals() {
  const auto file = find_data_file(kResiduals, "serving_residuals");
  if (!file) throw ConfigError({{"serving_residuals", "", unknown_name(kResiduals, "serving_residuals")}});
  Findings findings;
  const auto document = document_from_file(*file, findings);
  findings.throw_if_wrong();
  trust::ServedEvidence evidence = read_served_residuals(document->root(findings));
  findings.throw_if_wrong();
  return evidence;
}

}  // namespace foretoken::io
