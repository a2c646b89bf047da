// Splits the time of each pipeline stage in a run.
//
// Inside a pass the timing of the pass gives the split: compute, communication in the order of axes, host. An instant
// outside passes belongs to the first of these that applies:
//   1. the gap that the host leaves between two passes,
//   2. the optimizer and other work of the stage,
//   3. data-parallel communication of the stage,
//   4. copies between a GPU and its host, and the optimizer's update on the host,
//   5. a pipeline message that it sends or receives,
//   6. waiting for another stage.
#include "sim/observe/stage_times.h"

#include <algorithm>

#include "sim/base/intervals.h"

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

// Returns the time that slow GPUs added to a pass.
Duration stretch_of(const step::PassTasks& pass, const step::Workload& workload, std::span<const Duration> stretch) {
  Duration sum;
  if (stretch.empty()) return sum;
  for (std::uint32_t task = pass.first.value; task <= pass.last.value; ++task) {
    if (workload.meaning[task].kind == TaskMeaning::kPass) sum += stretch[task];
  }
  return sum;
}

StageActivity activity_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run,
                          std::span<const Duration> stretch) {
  StageActivity activity;
  const Window window = window_of(stage, step, run);
  bool seen_forward = false;
  for (const step::PassTasks& pass : step.workload.passes[stage]) {
    const Interval span = interval_of(pass.first, pass.last, run);
    if (!window.has(span)) continue;
    // Only the work counts: a pass that waits for parameters lasts longer.
    activity.busy += step.passes->timing(stage, pass.op.chunk, pass.op.kind).total;
    activity.busy += stretch_of(pass, step.workload, stretch);
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

// The time of a stage outside the work of its passes, by its cause.
struct Outside {
  std::vector<Interval> between, optimizer, other, work, offload;
  PerAxis<std::vector<Interval>> moving;
};

Outside outside_passes(Stage stage, const step::Workload& workload, const des::RunResult& run, const Window& window) {
  Outside outside;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const Meaning& meaning = workload.meaning[task];
    const Interval span = window.cut({run.start[task].ps, run.end[task].ps});
    if (span.end < span.begin) continue;
    if (meaning.kind == TaskMeaning::kCommunication) {
      const step::Communication& row = *workload.communication_of(meaning);
      if (row.purpose == step::Purpose::kHostCopy) {
        if (meaning.stage == stage) outside.offload.push_back(span);
        continue;
      }
      if (row.involves(stage)) (row.counts_for ? outside.moving[*row.counts_for] : outside.other).push_back(span);
      continue;
    }
    if (meaning.stage != stage) continue;
    if (meaning.kind == TaskMeaning::kPass) outside.work.push_back(span);
    if (meaning.kind == TaskMeaning::kPassOverhead) outside.between.push_back(span);
    if (meaning.kind == TaskMeaning::kOptimizer) outside.optimizer.push_back(span);
    if (meaning.kind == TaskMeaning::kStepOverhead) outside.other.push_back(span);
    if (meaning.kind == TaskMeaning::kHostUpdate) outside.offload.push_back(span);
  }
  return outside;
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

// The exchanges of experts are one part of an answer, over either of their axes.
void join_exchanges_of_experts(StageSplit& split) {
  split.comm[Axis::kExpert] += split.comm[Axis::kExpertTensor];
  split.comm[Axis::kExpertTensor] = {};
}

StageSplit split_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run,
                    std::span<const Duration> stretch) {
  const auto& workload = step.workload;
  StageSplit split;
  Coverage coverage;
  const Window window = window_of(stage, step, run);
  std::vector<Interval> passes;
  Duration inside, stretched;
  for (const step::PassTasks& pass : workload.passes[stage]) {
    const Interval span = interval_of(pass.first, pass.last, run);
    if (!window.has(span)) continue;
    const step::PassTiming& timing = step.passes->timing(stage, pass.op.chunk, pass.op.kind);
    split.compute += timing.compute;
    for (const auto& [axis, name] : kAxisNames) split.comm[axis] += timing.comm[axis];
    split.host += timing.host;
    inside += timing.total;
    stretched += stretch_of(pass, workload, stretch);
    passes.push_back(span);
  }
  join_exchanges_of_experts(split);
  // A pass that waits for parameters, or for the host to issue a unit, is longer than its work.
  const std::int64_t longer = coverage.add(std::move(passes)) - inside.ps;
  stretched.ps = std::clamp<std::int64_t>(longer, std::min<std::int64_t>(0, stretched.ps), stretched.ps);
  split.compute += stretched;
  const std::int64_t waited = longer - stretched.ps;

  Outside outside = outside_passes(stage, workload, run, window);
  std::vector<Interval>& data = outside.moving[Axis::kData];
  Coverage beside;
  if (waited > 0) (void)beside.add(std::move(outside.work));
  const std::int64_t exposed = beside.add(data);
  const std::int64_t exposed_copies = beside.add(outside.offload);
  split.host.ps += coverage.add(std::move(outside.between));
  split.optimizer.ps = coverage.add(std::move(outside.optimizer));
  split.other.ps = coverage.add(std::move(outside.other));
  split.comm[Axis::kTensor].ps += coverage.add(std::move(outside.moving[Axis::kTensor]));
  const std::int64_t outside_work = coverage.add(std::move(data));
  const std::int64_t for_data = std::clamp<std::int64_t>(exposed - outside_work, 0, waited);
  split.comm[Axis::kData].ps = outside_work + for_data;
  const std::int64_t copies_outside = coverage.add(std::move(outside.offload));
  const std::int64_t for_copies = std::clamp<std::int64_t>(exposed_copies - copies_outside, 0, waited - for_data);
  split.offload.ps = copies_outside + for_copies;
  split.host.ps += waited - for_data - for_copies;
  split.comm[Axis::kPipeline].ps = coverage.add(std::move(outside.moving[Axis::kPipeline]));
  split.bubble.ps = window.length() - coverage.covered();
  return step.steady ? mean_step(split, window) : split;
}

}  // namespace

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
