// One run, as a table of contents.
#include "sim/app/simulate.h"

#include <utility>

#include "sim/app/advice.h"
#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/lowering/task_names.h"

namespace foretoken::app {

namespace {

using lowering::Scenario;
using lowering::Traffic;

// No checked schedule deadlocks; should one, it is told who waits for whom, and the program ends.
des::RunResult run_to_the_end(const des::TaskGraph& graph, const des::Names& names) {
  des::RunResult run = des::run(graph);
  if (!run.stuck.empty())
    contract_broken(("a checked schedule does not deadlock\n" + des::describe_deadlock(graph, run, names)).c_str(),
                    __FILE__, __LINE__);
  return run;
}

// What the clock said, and what slow hardware had to do with it.
struct Ran {
  des::RunResult run;
  std::vector<des::Duration> stretch;
  observe::Waits waits;
};

// The clock runs once; all times are final.
Ran run_step(const lowering::LoweredStep& step, const Scenario& scenario, const HowToRun& how) {
  if (!how.unfolded) return {run_to_the_end(step.workload.graph, lowering::names_of(step)), {}, {}};
  const lowering::UnfoldedStep every = lowering::unfold(step, scenario, *how.traffic);
  const des::RunResult run = run_to_the_end(every.graph, lowering::names_of(step, every));
  const int rank = lowering::last_rank(every, run);
  return {lowering::seen_by(rank, every, run), lowering::stretch_seen_by(rank, every), observe::waits_of(every, run)};
}

lowering::LoweredStep lower(const Scenario& scenario, const HowToRun& how) {
  return how.unfolded && how.traffic == Traffic::kFlows ? lowering::lower_for_flows(scenario, how.fidelity)
                                                        : lowering::lower(scenario, how.fidelity);
}

}  // namespace

HowToRun resolved(HowToRun how, const Scenario& scenario) {
  const lowering::Imperfections& imperfections = scenario.imperfections;
  if (how.traffic == Traffic::kAnalytic && imperfections.uneven_links())
    throw ConfigError({{"", "/imperfections",
                        "with one cost for each collective no link is simulated; expected --collectives flows, or no "
                        "slow or failed NICs and links"}});
  const bool mixed = !scenario.groups.empty();
  if (how.traffic == Traffic::kFlows && mixed)
    throw ConfigError({{"", "/cluster",
                        "flows over nodes of several kinds are not simulated; expected --collectives analytic, or "
                        "nodes of one kind"}});
  if (!how.traffic && mixed) how.traffic = Traffic::kAnalytic;
  if (!how.traffic) how.traffic = how.unfolded || imperfections.moves_flows() ? Traffic::kFlows : Traffic::kAnalytic;
  // Imperfections break the symmetry that folding rests on, and flows are those of every GPU.
  how.unfolded = how.unfolded || how.traffic == Traffic::kFlows || imperfections.any() || scenario.stragglers.on;
  return how;
}

Simulation simulate(Scenario scenario, lowering::Fidelity fidelity) {
  return simulate(std::move(scenario), HowToRun{.fidelity = fidelity});
}

Simulation simulate(Scenario scenario, const HowToRun& how) {
  Simulation result{.scenario = std::move(scenario),
                    .how = {},
                    .step = {},
                    .run = {},
                    .observations = {},
                    .waits = {},
                    .memory = {},
                    .metrics = {}};
  result.how = resolved(how, result.scenario);
  // The question as tasks: from here on nothing asks a cost model.
  result.step = lower(result.scenario, result.how);
  Ran ran = run_step(result.step, result.scenario, result.how);
  result.run = std::move(ran.run);
  result.waits = std::move(ran.waits);
  // Who was busy when, and which bytes were alive.
  result.observations = observe::observe_stages(result.step, result.run, ran.stretch);
  result.memory = observe::memory_timelines(result.scenario, result.step, result.run);
  // The numbers that people ask for.
  result.metrics = report::measure(result.scenario, result.step, result.observations, result.memory);
  if (!result.metrics.memory.fits) result.metrics.memory.advice = advise(result);
  return result;
}

report::Metrics predict(const Scenario& scenario) {
  const HowToRun how = resolved({}, scenario);
  const lowering::LoweredStep step = lower(scenario, how);
  const Ran ran = run_step(step, scenario, how);
  return report::measure(scenario, step, observe::observe_stages(step, ran.run, ran.stretch),
                         observe::memory_timelines(scenario, step, ran.run));
}

Seconds step_time(const Scenario& scenario, const HowToRun& asked) {
  const HowToRun how = resolved(asked, scenario);
  const lowering::LoweredStep step = lower(scenario, how);
  return des::to_seconds(run_step(step, scenario, how).run.makespan - des::Instant{});
}

}  // namespace foretoken::app
