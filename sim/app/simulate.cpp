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

// Every GPU of a job, and what the clock said of them.
struct Unfolded {
  lowering::UnfoldedStep step;
  des::RunResult run;
};

Unfolded run_every_gpu(const lowering::LoweredStep& step, const Scenario& scenario, Traffic traffic) {
  Unfolded every{lowering::unfold(step, scenario, traffic), {}};
  every.run = run_to_the_end(every.step.graph, lowering::names_of(step, every.step));
  return every;
}

// A run in the numbering of the folded step, as the rank saw it that ends last.
struct Seen {
  des::RunResult run;
  std::vector<des::Duration> stretch;
};

Seen see(const Unfolded& every) {
  const int rank = lowering::last_rank(every.step, every.run);
  return {lowering::seen_by(rank, every.step, every.run), lowering::stretch_seen_by(rank, every.step)};
}

des::RunResult run_folded(const lowering::LoweredStep& step) {
  return run_to_the_end(step.workload.graph, lowering::names_of(step));
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
  Seen seen;
  if (result.how.unfolded) {
    const Unfolded every = run_every_gpu(result.step, result.scenario, *result.how.traffic);
    seen = see(every);
    result.waits = observe::waits_of(every.step, every.run);
  } else {
    seen.run = run_folded(result.step);
  }
  result.run = std::move(seen.run);
  // Who was busy when, and which bytes were alive.
  result.observations = observe::observe_stages(result.step, result.run, seen.stretch);
  result.memory = observe::memory_timelines(result.scenario, result.step, result.run);
  // The numbers that people ask for.
  result.metrics = report::measure(result.scenario, result.step, result.observations, result.memory);
  if (!result.metrics.memory.fits) result.metrics.memory.advice = advise(result);
  return result;
}

report::Metrics predict(const Scenario& scenario) {
  const HowToRun how = resolved({}, scenario);
  const lowering::LoweredStep step = lower(scenario, how);
  const Seen seen = how.unfolded ? see(run_every_gpu(step, scenario, *how.traffic)) : Seen{run_folded(step), {}};
  return report::measure(scenario, step, observe::observe_stages(step, seen.run, seen.stretch),
                         observe::memory_timelines(scenario, step, seen.run));
}

Seconds step_time(const Scenario& scenario, const HowToRun& how) {
  const HowToRun all = resolved(how, scenario);
  return step_time(lower(scenario, all), scenario, all);
}

Seconds step_time(const lowering::LoweredStep& step, const Scenario& scenario, const HowToRun& how) {
  const HowToRun all = resolved(how, scenario);
  // With one cost for each collective and equal GPUs all do as the one that stands for them (unfold.h).
  const bool alike = !scenario.imperfections.any() && !scenario.stragglers.on && all.traffic == Traffic::kAnalytic;
  const des::RunResult run =
      all.unfolded && !alike ? run_every_gpu(step, scenario, *all.traffic).run : run_folded(step);
  return des::to_seconds(run.makespan - des::Instant{});
}

}  // namespace foretoken::app
