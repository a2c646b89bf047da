// The checks of a program: counting for completeness, positions for order, a replay without times for deadlock.
#include "sim/schedule/check_program.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>

#include "sim/base/check.h"
#include "sim/base/noun.h"
#include "sim/schedule/op_text.h"

namespace foretoken::schedule {
namespace {

/// An op and the stage that runs it.
struct PlacedOp {
  int stage = 0;
  StageOp op;
};

std::size_t index(int value) { return static_cast<std::size_t>(value); }

/// One number for every op of a stage.
std::size_t slot_of(StageOp op, PipelineShape shape) {
  const int kind = op.kind == OpKind::kForward ? 0 : 1;
  return (index(kind) * index(shape.chunks) + index(op.chunk)) * index(shape.microbatches) + index(op.microbatch);
}

std::size_t slots(PipelineShape shape) { return 2 * index(shape.chunks) * index(shape.microbatches); }

bool is_in_shape(StageOp op, PipelineShape shape) {
  return op.microbatch >= 0 && op.microbatch < shape.microbatches && op.chunk >= 0 && op.chunk < shape.chunks;
}

/// Every op that a stage must run, once, forwards first.
StageProgram required_ops(PipelineShape shape) {
  StageProgram ops;
  for (const OpKind kind : {OpKind::kForward, OpKind::kBackward}) {
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      for (int microbatch = 0; microbatch < shape.microbatches; ++microbatch) ops.push_back({kind, microbatch, chunk});
    }
  }
  return ops;
}

void check_complete(const Program& program, PipelineShape shape, std::vector<std::string>& problems) {
  const StageProgram required = required_ops(shape);
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::vector<int> times(slots(shape), 0);
    for (const StageOp op : program[index(stage)]) {
      if (is_in_shape(op, shape)) {
        ++times[slot_of(op, shape)];
      } else {
        problems.push_back(fmt::format("stage {}: {} is outside {} and {}", stage, to_text(op, shape.chunks),
                                       with_noun(shape.microbatches, "micro-batch", "micro-batches"),
                                       with_noun(shape.chunks, "chunk")));
      }
    }
    for (const StageOp op : required) {
      const int found = times[slot_of(op, shape)];
      if (found == 0) problems.push_back(fmt::format("stage {}: {} is missing", stage, to_text(op, shape.chunks)));
      if (found > 1) {
        problems.push_back(fmt::format("stage {}: {} is there {} times", stage, to_text(op, shape.chunks), found));
      }
    }
  }
}

void check_order(const Program& program, PipelineShape shape, std::vector<std::string>& problems) {
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::vector<bool> seen(slots(shape), false);
    for (const StageOp op : program[index(stage)]) {
      const StageOp forward{OpKind::kForward, op.microbatch, op.chunk};
      if (op.kind == OpKind::kBackward && !seen[slot_of(forward, shape)]) {
        problems.push_back(fmt::format("stage {}: {} comes before its forward {}", stage, to_text(op, shape.chunks),
                                       to_text(forward, shape.chunks)));
      }
      seen[slot_of(op, shape)] = true;
    }
  }
}

/// The pass of a neighbour that feeds `at`; none for the forward of the first virtual stage and the backward of the
/// last. Virtual stage k p + r is chunk k of stage r.
std::optional<PlacedOp> feeder_of(PlacedOp at, PipelineShape shape) {
  const int step = at.op.kind == OpKind::kForward ? -1 : 1;
  const int virtual_stage = at.op.chunk * shape.stages + at.stage + step;
  if (virtual_stage < 0 || virtual_stage >= shape.stages * shape.chunks) return std::nullopt;
  return PlacedOp{virtual_stage % shape.stages, {at.op.kind, at.op.microbatch, virtual_stage / shape.stages}};
}

/// Runs the lists in order without times, every stage as far as it gets.
class Replay {
 public:
  Replay(const Program& program, PipelineShape shape)
      : program_(program), shape_(shape), next_(program.size(), 0), done_(program.size()) {
    for (std::vector<bool>& ops : done_) ops.assign(slots(shape), false);
  }

  void run() {
    // A stage can only be woken by its neighbours on the ring, so those of a stage that moved are tried again.
    std::vector<int> to_try;
    for (int stage = shape_.stages - 1; stage >= 0; --stage) to_try.push_back(stage);
    while (!to_try.empty()) {
      const int stage = to_try.back();
      to_try.pop_back();
      if (!advance(stage)) continue;
      to_try.push_back((stage + shape_.stages - 1) % shape_.stages);
      to_try.push_back((stage + 1) % shape_.stages);
    }
  }

  /// The op at which `stage` stopped; none when it has finished.
  [[nodiscard]] std::optional<PlacedOp> stopped_at(int stage) const {
    const StageProgram& ops = program_[index(stage)];
    if (next_[index(stage)] == ops.size()) return std::nullopt;
    return PlacedOp{stage, ops[next_[index(stage)]]};
  }

 private:
  /// Runs ops of `stage` until one has to wait; whether any ran.
  bool advance(int stage) {
    const std::size_t before = next_[index(stage)];
    for (auto at = stopped_at(stage); at && can_run(*at); at = stopped_at(stage)) {
      done_[index(stage)][slot_of(at->op, shape_)] = true;
      ++next_[index(stage)];
    }
    return next_[index(stage)] > before;
  }

  [[nodiscard]] bool can_run(PlacedOp at) const {
    const auto feeder = feeder_of(at, shape_);
    return !feeder || done_[index(feeder->stage)][slot_of(feeder->op, shape_)];
  }

  const Program& program_;
  PipelineShape shape_;
  std::vector<std::size_t> next_;        // [stage]: ops that have run
  std::vector<std::vector<bool>> done_;  // [stage][slot]
};

void check_deadlock(const Program& program, PipelineShape shape, std::vector<std::string>& problems) {
  Replay replay(program, shape);
  replay.run();
  for (int stage = 0; stage < shape.stages; ++stage) {
    const auto stopped = replay.stopped_at(stage);
    if (!stopped) continue;
    // Both exist: only a missing feeder stops an op, and in a complete program its stage has yet to come to it.
    const PlacedOp feeder = feeder_of(*stopped, shape).value();
    const PlacedOp feeder_stopped = replay.stopped_at(feeder.stage).value();
    problems.push_back(fmt::format("deadlock: stage {} waits at {} for {} of stage {}, which waits at {}", stage,
                                   to_text(stopped->op, shape.chunks), to_text(feeder.op, shape.chunks), feeder.stage,
                                   to_text(feeder_stopped.op, shape.chunks)));
  }
}

}  // namespace

std::vector<std::string> check_program(const Program& program, PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1 && shape.chunks >= 1,
          "a pipeline has at least one stage, one micro-batch and one chunk");
  if (program.size() != index(shape.stages)) {
    return {fmt::format("expected {} stages, found {}", shape.stages, program.size())};
  }
  std::vector<std::string> problems;
  check_complete(program, shape, problems);
  if (problems.empty()) check_order(program, shape, problems);
  if (problems.empty()) check_deadlock(program, shape, problems);
  return problems;
}

}  // namespace foretoken::schedule
