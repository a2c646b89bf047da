// From a scenario to its place, and from there to its interval.
#include "sim/app/error_bar.h"

#include "sim/trust/interval.h"

namespace foretoken::app {

trust::Place place_of(const lowering::Scenario& scenario) {
  return {.gpu = scenario.cluster.gpu.name,
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
