// One run, as a table of contents.
#include "sim/study/predict/predict.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/ranks/task_names.h"
#include "sim/study/predict/advice.h"
#include "sim/study/predict/caveats.h"

namespace foretoken::study {

namespace {

using job::Job;
using ranks::Traffic;

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
  ranks::UnfoldedStep step;
  des::RunResult run;
  const Job& job;
};

Unfolded run_every_gpu(const step::LoweredStep& step, const Job& job, Traffic traffic) {
  Unfolded every{ranks::unfold(step, job, traffic), {}, job};
  every.run = run_to_the_end(every.step.graph, ranks::names_of(step, every.step));
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
std::vector<int> gpus_of(int rank, const Job& job, const ranks::StageRanks& ranks) {
  std::vector<int> gpus;
  for (; rank < job.gpus; rank += ranks.count()) gpus.push_back(job.imperfections.gpu_of(rank));
  return gpus;
}

Seen see(const Unfolded& every) {
  observe::Waits waits = observe::waits_of(every.step, every.job.imperfections, every.run);
  const int rank = observe::rank_to_show(waits, every.step, every.run);
  return {ranks::seen_by(rank, every.step, every.run), ranks::stretch_seen_by(rank, every.step), std::move(waits),
          gpus_of(rank, every.job, every.step.ranks)};
}

des::RunResult run_folded(const step::LoweredStep& step) {
  return run_to_the_end(step.workload.graph, ranks::names_of(step));
}

step::LoweredStep lower(const Job& job, const HowToRun& how) {
  return how.unfolded && how.traffic == Traffic::kFlows ? step::lower_for_flows(job, how.fidelity)
                                                        : step::lower(job, how.fidelity);
}

report::Metrics measure(const Job& job, const HowToRun& how, const step::LoweredStep& step,
                        const observe::Observations& seen, const std::vector<observe::StageTimeline>& memory) {
  report::Metrics metrics = report::measure(job, step, seen, memory);
  add_caveats(job, how, metrics);
  return metrics;
}

}  // namespace

HowToRun resolved(HowToRun how, const Job& job) {
  const job::Imperfections& imperfections = job.imperfections;
  if (how.traffic == Traffic::kAnalytic && imperfections.uneven_links())
    throw ConfigError({{"", "/imperfections",
                        "with one cost for each collective no link is simulated; expected --collectives flows, or no "
                        "slow or failed NICs and links"}});
  if (!how.traffic) how.traffic = how.unfolded || imperfections.moves_flows() ? Traffic::kFlows : Traffic::kAnalytic;
  // Imperfections break the symmetry that folding rests on, and flows are those of every GPU.
  how.unfolded = how.unfolded || how.traffic == Traffic::kFlows || imperfections.any() || job.stragglers.on;
  return how;
}

Simulation simulate(Job job, step::Fidelity fidelity) {
  return simulate(std::move(job), HowToRun{.fidelity = fidelity});
}

Simulation simulate(Job job, const HowToRun& how) {
  Simulation result{.job = std::move(job),
                    .how = {},
                    .step = {},
                    .run = {},
                    .observations = {},
                    .waits = {},
                    .memory = {},
                    .metrics = {}};
  result.how = resolved(how, result.job);
  // The question as tasks: from here on nothing asks a cost model.
  result.step = lower(result.job, result.how);
  Seen seen;
  if (result.how.unfolded) {
    seen = see(run_every_gpu(result.step, result.job, *result.how.traffic));
  } else {
    seen.run = run_folded(result.step);
  }
  result.run = std::move(seen.run);
  result.waits = std::move(seen.waits);
  // Who was busy when, and which bytes were alive.
  result.observations = observe::observe_stages(result.step, result.run, seen.stretch);
  result.memory = observe::memory_timelines(result.job, result.step, result.run);
  // The numbers that people ask for.
  result.metrics = measure(result.job, result.how, result.step, result.observations, result.memory);
  if (!result.metrics.memory.fits) result.metrics.memory.advice = advise(result);
  result.metrics.shown_gpus = std::move(seen.gpus);
  return result;
}

report::Metrics predict(const Job& job) {
  const HowToRun how = resolved({}, job);
  const step::LoweredStep step = lower(job, how);
  const Seen seen = how.unfolded ? see(run_every_gpu(step, job, *how.traffic)) : Seen{run_folded(step), {}};
  return measure(job, how, step, observe::observe_stages(step, seen.run, seen.stretch),
                 observe::memory_timelines(job, step, seen.run));
}

Seconds step_time(const Job& job, const HowToRun& how) {
  const HowToRun all = resolved(how, job);
  return step_time(lower(job, all), job, all);
}

Seconds step_time(const step::LoweredStep& step, const Job& job, const HowToRun& how) {
  const HowToRun all = resolved(how, job);
  // With one cost for each collective and equal GPUs all do as the one that stands for them (unfold.h).
  const bool alike = !job.imperfections.any() && !job.stragglers.on && all.traffic == Traffic::kAnalytic;
  const des::RunResult run = all.unfolded && !alike ? run_every_gpu(step, job, *all.traffic).run : run_folded(step);
  return des::to_seconds(run.makespan - des::Instant{});
}

}  // namespace foretoken::study
