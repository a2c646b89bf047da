// Reads the residuals of a group: [GPUs, parameters, log(measured / predicted)] of each case.
#include "sim/io/scenario/read_residuals.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

void read_group(const Node& group, std::vector<trust::Case>& cases) {
  group.allow_only({"set", "gpu", "runtime", "bits", "weight", "cases"});
  trust::Case one;
  one.place.gpu = group.text("gpu");
  one.place.runtime = group.text("runtime");
  one.place.bits = static_cast<int>(group.whole("bits", {.low = 4, .high = 32}));
  one.weight = group.number("weight", {.low = 0, .high = 1, .above_low = true});
  for (const Node& row : group.array("cases")) {
    const std::vector<Node> numbers = row.as_array();
    if (numbers.size() != 3) {
      row.expected("[GPUs, parameters, log(measured / predicted)]");
      continue;
    }
    one.place.gpus = numbers[0].as_number({.low = 1, .high = 1e9});
    one.place.parameters = numbers[1].as_number({.low = 1, .high = 1e18});
    one.log_ratio = numbers[2].as_number({.low = -10, .high = 10});
    cases.push_back(one);
  }
}

}  // namespace

trust::Evidence read_residuals(const Node& node) {
  node.allow_only({"about", "widening", "widths", "groups"});
  trust::Evidence evidence;
  evidence.widening = node.number("widening", {.low = 0, .high = 10});
  for (const Node& width : node.array("widths")) {
    width.allow_only({"level", "spreads"});
    evidence.widths.push_back({width.number("level", kFraction), width.number("spreads", {.low = 0, .high = 1000})});
  }
  const auto has = [&](double level) {
    return std::any_of(evidence.widths.begin(), evidence.widths.end(),
                       [&](const trust::Width& width) { return std::abs(width.level - level) < 1e-9; });
  };
  if (!std::all_of(trust::kLevels.begin(), trust::kLevels.end(), has))
    node.complain("widths", "expected the levels 0.5, 0.8, 0.9 and 0.95; write the file again with foretoken validate");
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
