// Joins a run with the meaning of its tasks, stage by stage.
#include "sim/observe/stage_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/intervals.h"
#include "sim/observe/stage_spans.h"

namespace foretoken::observe {
namespace {

using des::Duration;
using step::Meaning;
using step::TaskMeaning;

// The part of a run that counts for one stage, and the steps in it.
struct Window {
  std::int64_t begin = 0, end = 0;
  int steps = 0;  // 0: the whole run, one step

  [[nodiscard]] std::int64_t length() const { return end - begin; }
  [[nodiscard]] std::int64_t step() const { return length() / std::max(1, steps); }
  [[nodiscard]] bool has(Interval span) const { return steps == 0 || (span.begin >= begin && span.begin < end); }
  [[nodiscard]] Interval cut(Interval span) const { return {std::max(span.begin, begin), std::min(span.end, end)}; }
};

// Returns the whole run, or the measured steps of a run without a flush.
Window window_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run) {
  if (!step.steady) return {0, run.makespan.ps, 0};
  const int a_step = microbatches_of(step.program) / step.steady->steps();
  const auto start_of = [&](int steps) {
    for (const step::PassTasks& pass : step.workload.passes[stage])
      if (pass.op.kind == schedule::OpKind::kForward && pass.op.microbatch.number() == steps * a_step)
        return run.start[pass.first.value].ps;
    return run.makespan.ps;
  };
  const schedule::SteadyRun& steady = *step.steady;
  return {start_of(steady.before), start_of(steady.before + steady.measured), steady.measured};
}

Interval interval_of(des::TaskId first, des::TaskId last, const des::RunResult& run) {
  return {run.start[first.value].ps, run.end[last.value].ps};
}

// Calls f(task) for the tasks that a pass is made of.
template <class F>
void for_each_task(const step::PassTasks& pass, const step::Workload& workload, F f) {
  for (std::uint32_t task = pass.first.value; task <= pass.last.value; ++task)
    if (workload.meaning[task].kind == TaskMeaning::kPass) f(task);
}

// Returns the time that slow GPUs added to a pass.
Duration stretch_of(const step::PassTasks& pass, const step::Workload& workload, std::span<const Duration> stretch) {
  Duration sum;
  if (stretch.empty()) return sum;
  for_each_task(pass, workload, [&](std::uint32_t task) { sum += stretch[task]; });
  return sum;
}

// Returns the time that links added to the exchanges of a pass's task. A whole pass exchanges over several axes in
// turn; its own times say how much of it each has.
PerAxis<Duration> longer_by_links(std::uint32_t task, const step::LoweredStep& step, const des::RunResult& run,
                                  std::span<const Duration> stretch) {
  PerAxis<Duration> longer;
  const Meaning& meaning = step.workload.meaning[task];
  Duration all = run.end[task] - run.start[task] - step.workload.graph.duration({task});
  if (!stretch.empty()) all = all - stretch[task];
  if (all.ps == 0) return longer;
  if (meaning.op != nullptr) {
    if (meaning.op->axis) longer[*meaning.op->axis] = all;
    return longer;
  }
  const PerAxis<Duration>& comm = step.passes->timing(meaning.stage, meaning.chunk, meaning.pass).comm;
  double sum = 0;
  for (const auto& [axis, name] : kAxisNames) sum += static_cast<double>(comm[axis].ps);
  for (const auto& [axis, name] : kAxisNames)
    if (comm[axis].ps > 0)
      longer[axis].ps = std::llround(static_cast<double>(all.ps) * (static_cast<double>(comm[axis].ps) / sum));
  return longer;
}

StageActivity activity_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run,
                          std::span<const Duration> stretch) {
  StageActivity activity;
  const Window window = window_of(stage, step, run);
  bool seen_forward = false;
  for (const step::PassTasks& pass : step.workload.passes[stage]) {
    const Interval span = interval_of(pass.first, pass.last, run);
    if (!window.has(span)) continue;
    // Only the work counts, and what slow GPUs and links add to it. A pass that waits for parameters lasts longer.
    activity.busy += step.passes->timing(stage, pass.op.chunk, pass.op.kind).total;
    activity.busy += stretch_of(pass, step.workload, stretch);
    for_each_task(pass, step.workload, [&](std::uint32_t task) {
      if (step.workload.meaning[task].stage != stage) return;
      const PerAxis<Duration> longer = longer_by_links(task, step, run, stretch);
      for (const auto& [axis, name] : kAxisNames) activity.busy += longer[axis];
    });
    const schedule::Results makes = schedule::traits(pass.op.kind).makes;
    if (makes.has(schedule::Result::kOutput) && !seen_forward) {
      activity.first_forward_start = {span.begin};
      seen_forward = true;
    }
    if (makes.has(schedule::Result::kInputGradient) || makes.has(schedule::Result::kWeightGradient))
      activity.last_backward_end = {span.end};
  }
  if (!step.steady) return activity;
  activity.busy.ps /= window.steps;
  activity.first_forward_start = {};
  activity.last_backward_end = {window.step()};
  return activity;
}

// Adds the tasks of a stage, and the communications that it takes part in.
void add_tasks_of(Stage stage, StageSpans& spans, const step::Workload& workload, const des::RunResult& run,
                  const Window& window) {
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const Meaning& meaning = workload.meaning[task];
    const Interval span = window.cut({run.start[task].ps, run.end[task].ps});
    if (span.end < span.begin) continue;
    if (meaning.kind == TaskMeaning::kCommunication) {
      const step::Communication& row = *workload.communication_of(meaning);
      if (row.involves(stage)) spans.add_communication(row, span);
    } else if (meaning.stage == stage) {
      spans.add_task(meaning.kind, span);
    }
  }
}

// Returns the mean step of `all`. The parts add up to the window's length over its steps.
StageSplit mean_step(StageSplit all, const Window& window) {
  std::int64_t parts = 0;
  const auto share = [&](Duration& part) {
    part.ps /= window.steps;
    parts += part.ps;
  };
  for (Duration* const part : {&all.compute, &all.optimizer, &all.host, &all.other, &all.offload}) share(*part);
  for (const auto& [axis, name] : kAxisNames) share(all.comm[axis]);
  all.bubble.ps = window.step() - parts;
  return all;
}

}  // namespace

StageSplit split_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run,
                    std::span<const Duration> stretch) {
  StageSpans spans;
  const Window window = window_of(stage, step, run);
  for (const step::PassTasks& pass : step.workload.passes[stage]) {
    const Interval span = interval_of(pass.first, pass.last, run);
    if (!window.has(span)) continue;
    spans.add_work(step.passes->timing(stage, pass.op.chunk, pass.op.kind));
    spans.add_pass(span, stretch_of(pass, step.workload, stretch));
    for_each_task(pass, step.workload, [&](std::uint32_t task) {
      if (step.workload.meaning[task].stage == stage) spans.add_links(longer_by_links(task, step, run, stretch));
    });
  }
  add_tasks_of(stage, spans, step.workload, run, window);
  const StageSplit split = std::move(spans).split({window.length()});
  return step.steady ? mean_step(split, window) : split;
}

Observations observe_stages(const step::LoweredStep& step, const des::RunResult& run,
                            std::span<const Duration> stretch) {
  Observations observed;
  for (const Stage stage : step.workload.passes.ids())
    observed.stages.push_back(activity_of(stage, step, run, stretch));
  for (const Stage stage : observed.stages.ids())
    if (observed.stages[stage].busy > observed.stages[observed.busiest_stage].busy) observed.busiest_stage = stage;
  observed.makespan = {window_of(observed.busiest_stage, step, run).step()};
  observed.busiest = split_of(observed.busiest_stage, step, run, stretch);
  if (!step.steady) return observed;
  // With a flush, updates come behind the last backward pass. Here they come between passes.
  const StageSplit& split = observed.busiest;
  const Duration updates = split.optimizer + split.comm[Axis::kData] + split.other;
  for (StageActivity& stage : observed.stages)
    stage.last_backward_end.ps = std::max(stage.busy.ps, stage.last_backward_end.ps - updates.ps);
  return observed;
}

}  // namespace foretoken::observe
