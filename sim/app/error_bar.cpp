// From a scenario to its place, and from there to its interval.
#include "sim/app/error_bar.h"

#include <set>
#include <string>

#include "sim/trust/interval.h"

namespace foretoken::app {

namespace {

// Several kinds of nodes are a kind of their own, which no case stands for.
std::string gpu_of(const lowering::Scenario& scenario) {
  std::string kinds;
  std::set<std::string> seen;
  trust::Place place;
  for (const lowering::StageGroup& group : scenario.groups) {
    if (!seen.insert(group.cluster.name).second) continue;
    place.gpu = group.cluster.gpu.name;
    if (!kinds.empty()) kinds += '+';
    kinds += place.gpu_kind();
  }
  return kinds.empty() ? scenario.cluster.gpu.name : kinds;
}

}  // namespace

trust::Place place_of(const lowering::Scenario& scenario) {
  return {.gpu = gpu_of(scenario),
          .runtime = scenario.runtime.name,
          .bits = static_cast<int>(8 * bytes_per_element(scenario.precision)),
          .gpus = static_cast<double>(scenario.gpus),
          .parameters = model::total_parameters(scenario.model)};
}

void add_interval(report::Metrics& metrics, const lowering::Scenario& scenario, const trust::Evidence& evidence,
                  double level) {
  metrics.interval = trust::interval_of(place_of(scenario), metrics.step_time, evidence, level);
}

}  // namespace foretoken::app
