// Runs the op lists of all stages side by side: an op starts when its stage is free and its input has arrived.
#include "sim/schedule/made/timed_program.h"

#include <algorithm>
#include <vector>

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

constexpr std::int64_t kNotYet = -1;

/// Ends of forwards and of backwards for input, by stage and micro-batch.
class Ends {
 public:
  Ends(std::size_t stages, std::size_t microbatches)
      : microbatches_(microbatches), forward_(stages * microbatches, kNotYet), input_(forward_) {}
  [[nodiscard]] std::int64_t& of(bool forward, std::size_t stage, MicroBatch microbatch) {
    return (forward ? forward_ : input_)[stage * microbatches_ + microbatch.index()];
  }

 private:
  std::size_t microbatches_;
  std::vector<std::int64_t> forward_, input_;
};

/// Returns the instant at which the inputs of an op are there, or kNotYet.
std::int64_t ready_at(Ends& ends, const StageOp& op, std::size_t stage, std::size_t stages, std::int64_t message) {
  const bool forward = op.kind == OpKind::kForward;
  if (op.kind == OpKind::kBackwardWeight) return ends.of(false, stage, op.microbatch);
  const bool at_end = forward ? stage == 0 : stage + 1 == stages;
  const std::int64_t own = forward ? 0 : ends.of(true, stage, op.microbatch);
  if (at_end || own == kNotYet) return own;
  const std::int64_t there = ends.of(forward, forward ? stage - 1 : stage + 1, op.microbatch);
  return there == kNotYet ? kNotYet : std::max(own, there + message);
}

}  // namespace

std::int64_t StageTimes::of(OpKind kind) const {
  switch (kind) {
    case OpKind::kForward:
      return forward;
    case OpKind::kBackward:
      return backward();
    case OpKind::kBackwardInput:
      return input;
    case OpKind::kBackwardWeight:
      return weight;
    default:
      return 0;
  }
}

std::optional<ProgramTimes> times_of(const Program& program, const PipelineTimes& times) {
  expects(program.placement.chunks() == 1, "these times are for one chunk a stage");
  const std::size_t stages = program.stages.size();
  Ends ends(stages, static_cast<std::size_t>(microbatches_of(program)));
  std::vector<std::size_t> next(stages, 0);
  std::vector<std::int64_t> free(stages, 0), first(stages, kNotYet);
  bool moved = true;
  while (moved) {
    moved = false;
    for (const Stage stage : program.stages.ids())
      for (const StageProgram& ops = program.stages[stage]; next[stage.index()] < ops.size(); moved = true) {
        const StageOp& op = ops[next[stage.index()]];
        const std::int64_t ready = ready_at(ends, op, stage.index(), stages, times.message);
        if (ready == kNotYet) break;
        const std::int64_t start = std::max(free[stage.index()], ready);
        if (first[stage.index()] == kNotYet) first[stage.index()] = start;
        free[stage.index()] = start + times.stages[stage].of(op.kind);
        if (op.kind != OpKind::kBackwardWeight)
          ends.of(op.kind == OpKind::kForward, stage.index(), op.microbatch) = free[stage.index()];
        ++next[stage.index()];
      }
  }
  ProgramTimes result;
  for (const Stage stage : program.stages.ids()) {
    if (next[stage.index()] < program.stages[stage].size()) return std::nullopt;
    result.makespan = std::max(result.makespan, free[stage.index()]);
    result.longest_span = std::max(result.longest_span, free[stage.index()] - first[stage.index()]);
  }
  return result;
}

}  // namespace foretoken::schedule
