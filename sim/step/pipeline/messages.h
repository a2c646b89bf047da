// The messages around the passes of a stage: the stage posts sends and receives, and waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::step {

/// The policy by which a runtime posts the messages of a pipeline.
enum class MessagePolicy : std::uint8_t {
  kLatency,     ///< a message delays its receiver and blocks nobody, not even other messages
  kAsProduced,  ///< posted once the result exists, awaited when it is needed; in order on its link
  kBlocking,    ///< Megatron without overlap: batched send and receive that both sides wait for
  kOverlapped,  ///< Megatron-Core's interleaved steady state: posted early, waited for late
};

/// A message: the result that `sender` made of the micro-batch. An output goes to the next virtual stage, an input
/// gradient to the previous one.
struct MessageKey {
  schedule::Place sender;
  schedule::MicroBatch microbatch;
  schedule::Neighbour to = schedule::Neighbour::kNext;
};

enum class ActionKind : std::uint8_t { kCompute, kPost, kWait };

/// One step of a stage's host program: computes `op`, or posts `message`, or waits for it.
struct Action {
  ActionKind kind = ActionKind::kCompute;
  schedule::StageOp op = {};
  MessageKey message = {};
};

/// Returns the message that `op` on `stage` sends, if another stage receives it.
[[nodiscard]] std::optional<MessageKey> sent_by(const schedule::Placement& placement, Stage stage,
                                                const schedule::StageOp& op);
/// Returns the message that `op` on `stage` needs from another stage, if any.
[[nodiscard]] std::optional<MessageKey> needed_by(const schedule::Placement& placement, Stage stage,
                                                  const schedule::StageOp& op);

/// Returns the link that a message takes on the ring of stages: the sender's link to the next stage or to the previous
/// one. Precondition: the message goes to another stage.
[[nodiscard]] schedule::Neighbour link_of(const schedule::Placement& placement, const MessageKey& message);

/// Returns the host program of `stage`. Megatron's policies need a program with a warm-up (schedule::Program::warm_up)
/// and looped placement. The others serve every program.
[[nodiscard]] std::vector<Action> stage_actions(const schedule::Program& program, Stage stage, MessagePolicy policy);

}  // namespace foretoken::step
