// What each pipeline stage did during a run.
//
// Inside a pass time is split as its own timing says (compute, then tensor, then context communication, then host).
// Outside passes an instant belongs to what separates two passes (host), then to the optimizer and other work of the
// stage, then to its data-parallel communication, then to a pipeline message that it sends or receives; what is left is
// waiting for another stage.
#include "sim/observe/stage_times.h"

#include <algorithm>

#include "sim/base/intervals.h"

namespace foretoken::observe {
namespace {

using des::Duration;
using step::Meaning;
using step::TaskMeaning;

Interval interval_of(des::TaskId first, des::TaskId last, const des::RunResult& run) {
  return {run.start[first.value].ps, run.end[last.value].ps};
}

// How much longer slow GPUs made a pass.
Duration stretch_of(const step::PassTasks& pass, const step::Workload& workload, std::span<const Duration> stretch) {
  Duration sum;
  if (stretch.empty()) return sum;
  for (std::uint32_t task = pass.first.value; task <= pass.last.value; ++task) {
    const TaskMeaning kind = workload.meaning[task].kind;
    if (kind == TaskMeaning::kForward || kind == TaskMeaning::kBackward) sum += stretch[task];
  }
  return sum;
}

StageActivity activity_of(int stage, const step::LoweredStep& step, const des::RunResult& run,
                          std::span<const Duration> stretch) {
  StageActivity activity;
  bool seen_forward = false;
  for (const step::PassTasks& pass : step.workload.passes[static_cast<std::size_t>(stage)]) {
    const Interval span = interval_of(pass.first, pass.last, run);
    // Its work: a pass may last longer, waiting for parameters.
    activity.busy += step.passes->timing(stage, pass.op.chunk.number(), pass.op.kind).total;
    activity.busy += stretch_of(pass, step.workload, stretch);
    const schedule::Results makes = schedule::traits(pass.op.kind).makes;
    if (makes.has(schedule::Result::kOutput) && !seen_forward) {
      activity.first_forward_start = {span.begin};
      seen_forward = true;
    }
    if (makes.has(schedule::Result::kInputGradient) || makes.has(schedule::Result::kWeightGradient))
      activity.last_backward_end = {span.end};
  }
  return activity;
}

// The stage that receives a message, which also counts it as communication.
int receiver_of(const Meaning& meaning, int stages) {
  return (meaning.stage + (meaning.kind == TaskMeaning::kSendForward ? 1 : stages - 1)) % stages;
}

StageSplit split_of(int stage, const step::LoweredStep& step, const des::RunResult& run,
                    std::span<const Duration> stretch) {
  const auto& workload = step.workload;
  const int stages = static_cast<int>(workload.stages.size());
  StageSplit split;
  Coverage coverage;
  std::vector<Interval> passes;
  Duration inside, stretched;
  for (const step::PassTasks& pass : workload.passes[static_cast<std::size_t>(stage)]) {
    const step::PassTiming& timing = step.passes->timing(stage, pass.op.chunk.number(), pass.op.kind);
    split.compute += timing.compute;
    split.tensor_comm += timing.tensor_comm;
    split.context_comm += timing.context_comm;
    split.host += timing.host;
    inside += timing.total;
    stretched += stretch_of(pass, workload, stretch);
    passes.push_back(interval_of(pass.first, pass.last, run));
  }
  // A pass that waited, for parameters or for the host to issue a unit, is longer than its work.
  const std::int64_t longer = coverage.add(std::move(passes)) - inside.ps;
  stretched.ps = std::clamp<std::int64_t>(longer, std::min<std::int64_t>(0, stretched.ps), stretched.ps);
  split.compute += stretched;
  const std::int64_t waited = longer - stretched.ps;

  std::vector<Interval> between, optimizer, other, tensor, data, messages, work;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const Meaning& meaning = workload.meaning[task];
    const Interval span{run.start[task].ps, run.end[task].ps};
    switch (meaning.kind) {
      case TaskMeaning::kSendForward:
      case TaskMeaning::kSendBackward:
        if (meaning.stage == stage || receiver_of(meaning, stages) == stage) messages.push_back(span);
        break;
      case TaskMeaning::kGradReduce:
      case TaskMeaning::kParamGather:
        if (meaning.stage == stage) data.push_back(span);
        break;
      case TaskMeaning::kNormReduce:
        if (meaning.stage == stage) tensor.push_back(span);
        break;
      case TaskMeaning::kEmbeddingTie:
        if (stage == 0 || stage == stages - 1) data.push_back(span);
        break;
      case TaskMeaning::kOptimizer:
        if (meaning.stage == stage) optimizer.push_back(span);
        break;
      case TaskMeaning::kGradNorm:
        other.push_back(span);
        break;
      case TaskMeaning::kStepOverhead:
        if (meaning.stage == stage) other.push_back(span);
        break;
      case TaskMeaning::kPassOverhead:
        if (meaning.stage == stage) between.push_back(span);
        break;
      case TaskMeaning::kForward:
      case TaskMeaning::kBackward:
        if (meaning.stage == stage && waited > 0) work.push_back(span);
        break;
      case TaskMeaning::kHostIssue:
        break;
    }
  }
  Coverage beside;
  (void)beside.add(std::move(work));
  const std::int64_t exposed = beside.add(data);
  split.host.ps += coverage.add(std::move(between));
  split.optimizer.ps = coverage.add(std::move(optimizer));
  split.other.ps = coverage.add(std::move(other));
  split.tensor_comm.ps += coverage.add(std::move(tensor));
  const std::int64_t outside = coverage.add(std::move(data));
  const std::int64_t for_data = std::clamp<std::int64_t>(exposed - outside, 0, waited);
  split.data_comm.ps = outside + for_data;
  split.host.ps += waited - for_data;
  split.pipeline_comm.ps = coverage.add(std::move(messages));
  split.bubble.ps = run.makespan.ps - coverage.covered();
  return split;
}

}  // namespace

Observations observe_stages(const step::LoweredStep& step, const des::RunResult& run,
                            std::span<const Duration> stretch) {
  Observations seen;
  seen.makespan = run.makespan - des::Instant{};
  for (int stage = 0; stage < static_cast<int>(step.workload.passes.size()); ++stage)
    seen.stages.push_back(activity_of(stage, step, run, stretch));
  for (std::size_t stage = 1; stage < seen.stages.size(); ++stage)
    if (seen.stages[stage].busy > seen.stages[static_cast<std::size_t>(seen.busiest_stage)].busy)
      seen.busiest_stage = static_cast<int>(stage);
  seen.busiest = split_of(seen.busiest_stage, step, run, stretch);
  return seen;
}

}  // namespace foretoken::observe
