// What a stage does around its passes: when it posts sends and receives, and when it waits for them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::step {

/// How pipeline messages meet the passes.
enum class MessageStyle : std::uint8_t {
  kLatency,     ///< a message delays its receiver and blocks nobody
  kBlocking,    ///< Megatron without overlap: batched send/receive that both sides wait for
  kOverlapped,  ///< Megatron-Core's interleaved steady state: posted early, waited for late
};

/// A message: the output of `op` on `stage`, to the next virtual stage (forward) or the previous one (backward).
struct MessageKey {
  int stage = 0;
  schedule::StageOp op;
};

enum class ActionKind : std::uint8_t { kCompute, kPost, kWait };

/// One step of a stage's host program. kCompute: `op` on this stage. kPost and kWait: the message `message`.
struct Action {
  ActionKind kind = ActionKind::kCompute;
  MessageKey message;
};

/// Where the virtual stages lie, and hence who sends to whom.
class VirtualStages {
 public:
  VirtualStages(int stages, int chunks) : stages_(stages), chunks_(chunks) {}
  /// The message that `op` on `stage` sends, if another device receives it.
  [[nodiscard]] bool sends(int stage, schedule::StageOp op) const {
    if (stages_ == 1) return false;
    const int at = index(stage, op);
    return op.kind == schedule::OpKind::kForward ? at + 1 < stages_ * chunks_ : at > 0;
  }
  /// The message that `op` on `stage` needs from another device, if any.
  [[nodiscard]] bool receives(int stage, schedule::StageOp op) const {
    if (stages_ == 1) return false;
    const int at = index(stage, op);
    return op.kind == schedule::OpKind::kForward ? at > 0 : at + 1 < stages_ * chunks_;
  }
  [[nodiscard]] MessageKey needed(int stage, schedule::StageOp op) const;
  /// Whether messages of this kind reach `stage` from the other end of the pipeline.
  [[nodiscard]] bool wraps(int stage, schedule::OpKind kind) const;
  [[nodiscard]] int stages() const { return stages_; }

 private:
  [[nodiscard]] int index(int stage, schedule::StageOp op) const { return op.chunk * stages_ + stage; }
  int stages_, chunks_;
};

/// The host program of `stage`, as Megatron-Core's schedules.py issues it (megatron/core/pipeline_parallel): recorded
/// call sequences are the test.
[[nodiscard]] std::vector<Action> stage_actions(const schedule::StageProgram& program, int stage,
                                                const VirtualStages& where, int chunks, MessageStyle style);

}  // namespace foretoken::step
