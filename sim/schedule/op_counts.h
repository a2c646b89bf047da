// Counts of every op of a program. Completeness, order and freedom from deadlock follow from them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// An op and the stage that runs it.
struct PlacedOp {
  Stage stage;
  StageOp op;
  [[nodiscard]] Place place() const { return {stage, op.chunk}; }
};

/// Positions of all ops of a shape in flat tables.
class OpSlots {
 public:
  explicit OpSlots(PipelineShape shape)
      : stages_(static_cast<std::size_t>(shape.stages)),
        chunks_(static_cast<std::size_t>(shape.chunks)),
        microbatches_(static_cast<std::size_t>(shape.microbatches)) {}
  [[nodiscard]] bool has(const StageOp& op) const {
    return op.microbatch.index() < microbatches_ && op.chunk.index() < chunks_;
  }
  [[nodiscard]] std::size_t of(Stage stage, const StageOp& op) const {
    const std::size_t chunk = stage.index() * chunks_ + op.chunk.index();
    return (chunk * kOpKinds + static_cast<std::size_t>(op.kind)) * microbatches_ + op.microbatch.index();
  }
  /// The position of a micro-batch at a place, whatever its ops.
  [[nodiscard]] std::size_t of(Place at, MicroBatch microbatch) const {
    return (at.stage.index() * chunks_ + at.chunk.index()) * microbatches_ + microbatch.index();
  }
  [[nodiscard]] std::size_t places() const { return stages_ * chunks_ * microbatches_; }
  [[nodiscard]] std::size_t count() const { return stages_ * chunks_ * kOpKinds * microbatches_; }

 private:
  std::size_t stages_, chunks_, microbatches_;
};

/// The counts of one program. Ops outside the shape do not count.
class OpCounts {
 public:
  OpCounts(const Program& program, PipelineShape shape);
  [[nodiscard]] int times(Place at, OpKind kind, MicroBatch microbatch) const {
    return times_[slots_.of(at.stage, {kind, microbatch, at.chunk})];
  }
  /// Returns the kind of op there that makes `result` of the micro-batch, or the first such kind when the program has
  /// none.
  [[nodiscard]] OpKind maker(Place at, MicroBatch microbatch, Result result) const;
  /// Returns true when the program has an op of this kind.
  [[nodiscard]] bool any(OpKind kind) const { return used_[static_cast<std::size_t>(kind)]; }
  /// Returns true when the place has any op of the micro-batch.
  [[nodiscard]] bool any(Place at, MicroBatch microbatch) const;

 private:
  OpSlots slots_;
  std::vector<int> times_;
  std::array<bool, kOpKinds> used_{};
};

}  // namespace foretoken::schedule
