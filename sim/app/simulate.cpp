// One run, as a table of contents.
#include "sim/app/simulate.h"

#include <utility>

#include "sim/app/advice.h"
#include "sim/base/check.h"
#include "sim/lowering/task_names.h"

namespace foretoken::app {

namespace {

// No checked schedule deadlocks; should one, it is told who waits for whom, and the program ends.
des::RunResult run_to_the_end(const des::TaskGraph& graph, const des::Names& names) {
  des::RunResult run = des::run(graph);
  if (!run.stuck.empty())
    contract_broken(("a checked schedule does not deadlock\n" + des::describe_deadlock(graph, run, names)).c_str(),
                    __FILE__, __LINE__);
  return run;
}

// The clock runs once; all times are final.
des::RunResult run_step(const lowering::LoweredStep& step, const lowering::Scenario& scenario, const HowToRun& how) {
  // Imperfections break the symmetry that folding rests on.
  if (!how.unfolded && !scenario.imperfections.any())
    return run_to_the_end(step.workload.graph, lowering::names_of(step));
  const lowering::UnfoldedStep every = lowering::unfold(step, scenario, how.traffic);
  const des::RunResult run = run_to_the_end(every.graph, lowering::names_of(step, every));
  return lowering::seen_by(lowering::last_rank(every, run), every, run);
}

}  // namespace

Simulation simulate(lowering::Scenario scenario, lowering::Fidelity fidelity) {
  return simulate(std::move(scenario), HowToRun{.fidelity = fidelity});
}

Simulation simulate(lowering::Scenario scenario, const HowToRun& how) {
  Simulation result{
      .scenario = std::move(scenario), .step = {}, .run = {}, .observations = {}, .memory = {}, .metrics = {}};
  // The question as tasks: from here on nothing asks a cost model.
  result.step = lowering::lower(result.scenario, how.fidelity);
  result.run = run_step(result.step, result.scenario, how);
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
