// One run, as a table of contents.
#include "sim/app/simulate.h"

#include <algorithm>
#include <utility>

#include "sim/app/advice.h"
#include "sim/app/caveats.h"
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
  const Scenario& scenario;
};

Unfolded run_every_gpu(const lowering::LoweredStep& step, const Scenario& scenario, Traffic traffic) {
  Unfolded every{lowering::unfold(step, scenario, traffic), {}, scenario};
  every.run = run_to_the_end(every.step.graph, lowering::names_of(step, every.step));
  return every;
}

// A run in the numbering of the folded step, as the rank to show saw it, and what slow hardware all ranks wait for.
struct Seen {
  des::RunResult run;
  std::vector<des::Duration> stretch;
  observe::Waits waits = {};
  std::vector<int> gpus = {};  // by stage; empty: folded
};

// Those of a stage rank, by stage.
std::vector<int> gpus_of(int rank, const Scenario& scenario, const lowering::StageRanks& ranks) {
  std::vector<int> gpus;
  for (; rank < scenario.gpus; rank += ranks.count()) gpus.push_back(scenario.imperfections.gpu_of(rank));
  return gpus;
}

Seen see(const Unfolded& every) {
  observe::Waits waits = observe::waits_of(every.step, every.scenario.imperfections, every.run);
  const int rank = observe::rank_to_show(waits, every.step, every.run);
  return {lowering::seen_by(rank, every.step, every.run), lowering::stretch_seen_by(rank, every.step), std::move(waits),
          gpus_of(rank, every.scenario, every.step.ranks)};
}

des::RunResult run_folded(const lowering::LoweredStep& step) {
  return run_to_the_end(step.workload.graph, lowering::names_of(step));
}

lowering::LoweredStep lower(const Scenario& scenario, const HowToRun& how) {
  return how.unfolded && how.traffic == Traffic::kFlows ? lowering::lower_for_flows(scenario, how.fidelity)
                                                        : lowering::lower(scenario, how.fidelity);
}

report::Metrics measure(const Scenario& scenario, const HowToRun& how, const lowering::LoweredStep& step,
                        const observe::Observations& seen, const std::vector<observe::StageTimeline>& memory) {
  report::Metrics metrics = report::measure(scenario, step, seen, memory);
  add_caveats(scenario, how, metrics);
  return metrics;
}

}  // namespace

HowToRun resolved(HowToRun how, const Scenario& scenario) {
  const lowering::Imperfections& imperfections = scenario.imperfections;
  if (how.traffic == Traffic::kAnalytic && imperfections.uneven_links())
    throw ConfigError({{"", "/imperfections",
                        "with one cost for each collective no link is simulated; expected --collectives flows, or no "
                        "slow or failed NICs and links"}});
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
    seen = see(run_every_gpu(result.step, result.scenario, *result.how.traffic));
  } else {
    seen.run = run_folded(result.step);
  }
  result.run = std::move(seen.run);
  result.waits = std::move(seen.waits);
  // Who was busy when, and which bytes were alive.
  result.observations = observe::observe_stages(result.step, result.run, seen.stretch);
  result.memory = observe::memory_timelines(result.scenario, result.step, result.run);
  // The numbers that people ask for.
  result.metrics = measure(result.scenario, result.how, result.step, result.observations, result.memory);
  if (!result.metrics.memory.fits) result.metrics.memory.advice = advise(result);
  result.metrics.shown_gpus = std::move(seen.gpus);
  return result;
}

report::Metrics predict(const Scenario& scenario) {
  const HowToRun how = resolved({}, scenario);
  const lowering::LoweredStep step = lower(scenario, how);
  const Seen seen = how.unfolded ? see(run_every_gpu(step, scenario, *how.traffic)) : Seen{run_folded(step), {}};
  return measure(scenario, how, step, observe::observe_stages(step, seen.run, seen.stretch),
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
