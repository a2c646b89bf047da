// The messages around the passes of a stage: when it posts sends and receives, and when it waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::step {

/// The policy by which a runtime posts the messages of a pipeline.
enum class MessagePolicy : std::uint8_t {
  kLatency,     ///< a message delays its receiver and blocks nobody, not even other messages
  kAsProduced,  ///< posted when the result is there, waited for when it is needed; in order on its link
  kBlocking,    ///< Megatron without overlap: batched send and receive that both sides wait for
  kOverlapped,  ///< Megatron-Core's interleaved steady state: posted early, waited for late
};

/// A message: what `sender` made of the micro-batch, for the next virtual stage (an output) or the previous one (an
/// input gradient).
struct MessageKey {
  schedule::Place sender;
  schedule::MicroBatch microbatch;
  schedule::Neighbour to = schedule::Neighbour::kNext;
};

enum class ActionKind : std::uint8_t { kCompute, kPost, kWait };

/// One step of a stage's host program: `op` is computed, or `message` is posted or waited for.
struct Action {
  ActionKind kind = ActionKind::kCompute;
  schedule::StageOp op = {};
  MessageKey message = {};
};

/// The message that `op` on `stage` sends, if another stage receives it.
[[nodiscard]] std::optional<MessageKey> sent_by(const schedule::Placement& placement, Stage stage,
                                                const schedule::StageOp& op);
/// The message that `op` on `stage` needs from another stage, if any.
[[nodiscard]] std::optional<MessageKey> needed_by(const schedule::Placement& placement, Stage stage,
                                                  const schedule::StageOp& op);

/// The link that a message takes: the sender's to the next stage or to the previous one, on the ring of stages.
/// Precondition: the message goes to another stage.
[[nodiscard]] schedule::Neighbour link_of(const schedule::Placement& placement, const MessageKey& message);

/// The host program of `stage`. Megatron's policies ask for a program with a warm-up (schedule::Program::warm_up) and
/// looped placement; the others serve every program.
[[nodiscard]] std::vector<Action> stage_actions(const schedule::Program& program, Stage stage, MessagePolicy policy);

}  // namespace foretoken::step
