// Times the ops of layers, embedding and head: what the model asks for, at the profile's cost, as the runtime does it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/model/layer_ops.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// One kernel or collective with its duration and the host time that issuing it takes.
struct TimedOp {
  std::string_view name;
  model::OpRole role = model::OpRole::kElementwise;
  std::optional<Axis> axis{};  ///< of the ranks that it exchanges something with; none: a kernel
  des::Duration duration;
  des::Duration host;
  bool beside_next = false;                        ///< runs beside the next kernel; the kernel after that waits for it
  std::optional<CommunicationId> communication{};  ///< its row in LayerBlocks; absent when it computes
  bool matrix = false;                             ///< a matrix product
  bool recomputed = false;                         ///< repeats work of the forward pass
  model::BackwardPart part = model::BackwardPart::kInput;  ///< of a backward pass
};
using TimedOps = std::vector<TimedOp>;

/// The ops of one part of a backward pass. A collective whose kernel beside it belongs to the other part holds up the
/// next kernel.
[[nodiscard]] TimedOps part_of(const TimedOps& backward, model::BackwardPart part);

/// The timed op lists of a scenario; every pass of every chunk is made of these blocks.
struct LayerBlocks {
  TimedOps layer_forward;
  TimedOps layer_backward;            ///< without recomputation
  TimedOps layer_backward_recompute;  ///< with the recomputation that the scenario asks for
  TimedOps embedding_forward, embedding_backward;
  TimedOps head_forward, head_backward;
  Communications communications;  ///< of all blocks; stages count from the first that has these blocks
};

/// Times all blocks of `job`. Recomputed ops include their collectives, which nothing hides.
[[nodiscard]] LayerBlocks time_blocks(const job::Job& job);

}  // namespace foretoken::step
