// Puts keys of the command line, and of comments of a file, over those that its settings give.
#include "sim/io/import/launch/user_sets.h"

#include <algorithm>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/json/set_value.h"

namespace foretoken::io::launch {
namespace {

/// A key that the scenario takes beside one value of another key only: sim/io/scenario/scenario_parts.cpp.
struct Dependent {
  std::string_view of, value, key;
};
constexpr Dependent kDependents[] = {{"recompute.granularity", "full", "recompute.method"},
                                     {"recompute.granularity", "full", "recompute.layers"},
                                     {"recompute.granularity", "selective", "recompute.modules"}};

std::string key_of(const std::string& set) { return set.substr(0, set.find('=')); }

bool states_key(const std::vector<std::string>& sets, std::string_view key) {
  return std::ranges::any_of(sets, [&](const std::string& set) { return key_of(set) == key; });
}

}  // namespace

void apply_sets(const std::vector<std::string>& sets, const std::string& from, Report& report, Findings& findings) {
  nlohmann::json scenario = report.scenario;
  for (const std::string& set : sets) apply_set(scenario, set, findings);
  report.scenario = scenario;
  for (const Dependent& one : kDependents) {
    const bool section = states_key(sets, one.of.substr(0, one.of.find('.')));
    if (!section && (!states_key(sets, one.of) || states_key(sets, one.key))) continue;
    if (report.at(one.of) == Json(one.value)) continue;
    if (!section && report.has(one.key)) {
      report.forget(one.key);
      report.approximate(std::string(one.key), std::string(one.of) + " of the user drops it");
    }
    std::erase_if(report.asked, [&](const Asked& open) { return open.key == one.key; });
  }
  for (const std::string& set : sets) {
    const std::string key = key_of(set);
    report.mapped.push_back(
        {printable(key, 80), printable(set.substr(std::min(set.size(), key.size() + 1)), 80), from});
  }
}

}  // namespace foretoken::io::launch
