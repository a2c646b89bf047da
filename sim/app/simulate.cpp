// One run, as a table of contents.
#include "sim/app/simulate.h"

#include <utility>

#include "sim/app/advice.h"
#include "sim/base/check.h"

namespace foretoken::app {

Simulation simulate(lowering::Scenario scenario, lowering::Fidelity fidelity) {
  Simulation result{
      .scenario = std::move(scenario), .step = {}, .run = {}, .observations = {}, .memory = {}, .metrics = {}};
  // The question as tasks: from here on nothing asks a cost model.
  result.step = lowering::lower(result.scenario, fidelity);
  // The clock runs once; all times are final.
  result.run = des::run(result.step.workload.graph);
  expects(result.run.stuck.empty(), "a checked schedule does not deadlock");
  // Who was busy when, and which bytes were alive.
  result.observations = observe::observe_stages(result.step, result.run);
  result.memory = observe::memory_timelines(result.scenario, result.step, result.run);
  // The numbers that people ask for.
  result.metrics = report::measure(result.scenario, result.step, result.observations, result.memory);
  if (!result.metrics.memory.fits) result.metrics.memory.advice = advise(result);
  return result;
}

report::Metrics predict(const lowering::Scenario& scenario) {
  const lowering::LoweredStep step = lowering::lower(scenario, lowering::Fidelity::kStage);
  const des::RunResult run = des::run(step.workload.graph);
  return report::measure(scenario, step, observe::observe_stages(step, run),
                         observe::memory_timelines(scenario, step, run));
}

}  // namespace foretoken::app
