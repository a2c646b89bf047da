// Makes one complete prediction. predict() reads like a table of contents.
#include "sim/study/predict/predict.h"

#include <optional>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/fast/forward_only.h"
#include "sim/fast/observed_step.h"
#include "sim/ranks/task_names.h"
#include "sim/step/source_notes.h"
#include "sim/study/predict/advice.h"
#include "sim/study/predict/caveats.h"
#include "sim/study/predict/delays.h"
#include "sim/study/predict/measure.h"

namespace foretoken::study {

namespace {

using job::Job;
using ranks::Traffic;

// Runs a graph to its end. A checked schedule never deadlocks; if one does, the program ends and names the waiting
// tasks.
des::RunResult run_to_the_end(const des::TaskGraph& graph, const des::Names& names, des::Kept kept,
                              const Watch& watch) {
  des::RunResult run = des::run(graph, {}, kept, watch);
  if (!run.stuck.empty())
    contract_broken(("a checked schedule does not deadlock\n" + des::describe_deadlock(graph, run, names)).c_str(),
                    __FILE__, __LINE__);
  return run;
}

// The step of every GPU of a job, with the times of its tasks.
struct Unfolded {
  ranks::UnfoldedStep step;
  des::RunResult run;
};

Unfolded run_every_gpu(const step::LoweredStep& step, const Job& job, Traffic traffic, const Watch& watch = {}) {
  Unfolded every{ranks::unfold(step, job, traffic), {}};
  every.run = run_to_the_end(every.step.graph, ranks::names_of(step, every.step), des::Kept::kStarts, watch);
  return every;
}

// A run in the numbering of the folded step. An unfolded run is shown through one stage rank.
struct ShownRun {
  des::RunResult run;
  std::vector<des::Duration> stretch = {};
  observe::Waits waits = {};  // for slow hardware that all ranks wait for
  PerStage<Gpu> gpus = {};    // empty: folded
  std::size_t size = 0;       // see size_of
};

// Returns what the time of a run grows with: its tasks, and the links that its flows cross.
std::size_t size_of(const des::TaskGraph& graph) {
  std::size_t size = graph.tasks();
  for (const des::Flow& flow : graph.flows()) size += flow.route.size();
  return size;
}

// Returns the GPUs of one stage rank.
PerStage<Gpu> gpus_of(StageRank rank, const Job& job) {
  PerStage<Gpu> gpus;
  const net::RankGrid grid = job.grid();
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    gpus.push_back(job.imperfections.gpu_of(grid.rank_of(stage, rank)));
  return gpus;
}

// Makes waits of a run of several steps those of a mean step.
void divide(observe::Waits& waits, int steps) {
  const auto each = [&](auto& times) {
    for (auto& [key, time] : times) time.ps /= steps;
  };
  each(waits.by_gpu);
  each(waits.by_link);
  each(waits.by_experts);
  each(waits.by_stage_rank);
}

ShownRun shown(const Unfolded& every, const Job& job, int steps) {
  observe::Waits waits = observe::waits_of(every.step, job.imperfections, every.run);
  divide(waits, steps);
  const StageRank rank = observe::rank_to_show(waits, every.step, every.run);
  return {ranks::seen_by(rank, every.step, every.run), ranks::stretch_seen_by(rank, every.step), std::move(waits),
          gpus_of(rank, job), size_of(every.step.graph)};
}

des::RunResult run_folded(const step::LoweredStep& step, const Watch& watch = {}) {
  return run_to_the_end(step.workload.graph, ranks::names_of(step), des::Kept::kStartsAndEnds, watch);
}

ShownRun run_step(const step::LoweredStep& step, const Job& job, const How& how, const Watch& watch = {}) {
  if (!how.unfolded) return {run_folded(step, watch)};
  return shown(run_every_gpu(step, job, *how.traffic, watch), job, step.steady ? step.steady->steps() : 1);
}

step::LoweredStep lower(const Job& job, const How& how) {
  return how.unfolded && how.traffic == Traffic::kFlows ? step::lower_for_flows(job, how.fidelity)
                                                        : step::lower(job, how.fidelity);
}

// The facts of a run that only its metrics need.
struct RunOnce {
  std::size_t tasks = 0;
  PerStage<Gpu> gpus = {};  // empty: folded
  std::size_t size = 0;     // of the unfolded run
};

bool needs_tasks(const Prediction& prediction) {
  const How& how = prediction.how;
  return how.keeps_tasks || how.unfolded || how.fidelity != step::Fidelity::kStage ||
         !fast::has_observed_step(prediction.job);
}

RunOnce run_tasks(Prediction& result, const Watch& watch) {
  // Runs the engine: from here on the start and the end of every task are final.
  ShownRun shown = run_step(result.step, result.job, result.how, watch);
  result.run = std::move(shown.run);
  result.waits = std::move(shown.waits);

  result.observations = observe::observe_stages(result.step, result.run, shown.stretch);
  result.memory = observe::memory_timelines(result.job, result.step, result.run);
  return {result.step.workload.graph.tasks(), std::move(shown.gpus), shown.size};
}

RunOnce run_without_tasks(Prediction& result) {
  fast::ObservedStep observed = fast::observe_step(result.job);
  result.step = std::move(observed.step);
  result.run.makespan = des::Instant{} + observed.observations.makespan;
  result.observations = std::move(observed.observations);
  result.memory = std::move(observed.memory);
  return {observed.tasks, {}};
}

// Returns the way of the run without optional parts, for further runs to compare with.
How without_parts(How how) {
  how.advice = how.forward_only = false;
  how.delays = Delays::kNone;
  how.interval.reset();
  return how;
}

// Adds the notes of making the job, the sources of its numbers, and the omissions of this run.
void add_notes(Prediction& result) {
  report::Metrics& metrics = result.metrics;
  metrics.assumptions = result.notes.assumptions;
  metrics.warnings = result.notes.warnings;
  for (std::string& note : step::source_notes(result.job)) metrics.assumptions.push_back(std::move(note));
  add_caveats(result.job, result.how, metrics);
}

}  // namespace

How resolved(How how, const Job& job) {
  const job::Imperfections& imperfections = job.imperfections;
  if (how.traffic == Traffic::kAnalytic && imperfections.uneven_links())
    throw ConfigError({{"", "/imperfections",
                        "with one cost for each collective no link is simulated; expected --collectives flows, or no "
                        "slow or failed NICs and links"}});
  if (!how.traffic) how.traffic = how.unfolded || imperfections.moves_flows() ? Traffic::kFlows : Traffic::kAnalytic;
  // Folding needs equal GPUs, which imperfections end, and flows need every GPU.
  how.unfolded = how.unfolded || how.traffic == Traffic::kFlows || imperfections.any() || job.stragglers.on;
  return how;
}

Prediction predict(job::Made made, const How& how, const Watch& watch) {
  // Fixes the job and the way it is run: from here on nothing is open.
  Prediction result{.job = std::move(made.job),
                    .notes = std::move(made.notes),
                    .how = {},
                    .step = {},
                    .run = {},
                    .observations = {},
                    .waits = {},
                    .memory = {},
                    .metrics = {}};
  result.how = resolved(without_parts(how), result.job);

  // Lowers the job to tasks: from here on no cost model is called.
  const bool by_tasks = needs_tasks(result);
  if (by_tasks) result.step = lower(result.job, result.how);

  // Runs the step: from here on the busy times and the live bytes are final.
  std::optional<SoundStep> sound;
  if (by_tasks && how.delays != Delays::kNone) sound.emplace(result.step, result.job, result.how);
  const RunOnce once = by_tasks ? run_tasks(result, watch) : run_without_tasks(result);

  // Computes the numbers of this run, with its assumptions and omissions.
  report::Metrics& metrics = result.metrics;
  std::optional<trust::Bias> bias;
  if (how.interval) bias = bias_of(result.job, how.interval->evidence);
  metrics = measure(result.job, result.step, result.observations, result.memory, once.tasks, std::move(bias));
  metrics.shown_gpus = once.gpus;
  add_notes(result);

  // Adds the optional parts. Each needs further runs or validated cases.
  if (how.advice && !metrics.memory.fits) metrics.memory.advice = advise(result);
  if (how.forward_only) metrics.forward_only_step = fast::forward_only_time(result.job);
  if (how.delays != Delays::kNone) {
    metrics.delays =
        delays_of(result, {.which = how.delays, .size = once.size, .sound = sound ? sound->time() : std::nullopt});
  }
  if (how.interval) metrics.interval = interval_of(result.job, metrics.step_time, *how.interval);
  return result;
}

Seconds step_time(const Job& job, const How& how) {
  const How all = resolved(how, job);
  return step_time(lower(job, all), job, all);
}

Seconds step_time(const step::LoweredStep& step, const Job& job, const How& how) {
  const How all = resolved(how, job);
  // With one cost for each collective and equal GPUs, one GPU stands for all (unfold.h).
  const bool alike = !job.imperfections.any() && !job.stragglers.on && all.traffic == Traffic::kAnalytic;
  if (step.steady) {
    How way = all;
    way.unfolded = all.unfolded && !alike;
    const ShownRun shown = run_step(step, job, way);
    return des::to_seconds(observe::observe_stages(step, shown.run, shown.stretch).makespan);
  }
  const des::RunResult run = all.unfolded && !alike ? run_every_gpu(step, job, *all.traffic).run : run_folded(step);
  return des::to_seconds(run.makespan - des::Instant{});
}

}  // namespace foretoken::study
