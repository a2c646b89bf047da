// Asks for an order with the times and the memory that a lowered step would have.
#include "sim/step/made_order.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/made/make_schedule.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/passes.h"

namespace foretoken::step {
namespace {

using schedule::OpKind;

schedule::StageTimes stage_times(const Passes& passes, Stage stage, des::Duration overhead) {
  const auto of = [&](OpKind kind) { return (passes.timing(stage, Chunk{0}, kind).total + overhead).ps; };
  return {.forward = of(OpKind::kForward),
          .input = of(OpKind::kBackwardInput),
          .weight = of(OpKind::kBackwardWeight),
          .whole_backward = of(OpKind::kBackward)};
}

schedule::StageLimit stage_limit(const job::Job& job, const JobMemory& memory, Stage stage) {
  const PassMemory pass = memory.of_pass(stage, Chunk{0});
  const Bytes free =
      job.cluster_of(stage).gpu.memory - outside_allocator(job) - memory.held(stage).total() - pass.transient;
  const double one = std::max(pass.stash.value(), pass.for_weights.value());
  return {.stash = pass.stash.value(), .for_weights = pass.for_weights.value(), .limit = std::max(free.value(), one)};
}

}  // namespace

schedule::Program made_order(const job::Job& job) {
  expects(job.schedule.made, "the job wants its order made");
  const Passes passes(job);
  const JobMemory memory(job);
  const MessageDurations messages = message_durations(job);
  schedule::MakeQuestion question{.microbatches = job::pipeline_shape(job).microbatches, .times = {}, .limits = {}};
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    question.times.stages.push_back(stage_times(passes, stage, pass_overhead(job)));
    question.limits.push_back(stage_limit(job, memory, stage));
    if (job.parallelism.pipeline > 1)
      question.times.message =
          std::max({question.times.message, messages.to_next[stage].ps, messages.to_previous[stage].ps});
  }
  return schedule::make_schedule(question).program;
}

}  // namespace foretoken::step
