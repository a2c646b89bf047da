// Times the ops of layers, embedding and head: what the model asks for, at the profile's cost, as the runtime does it.
#pragma once

#include <string_view>
#include <vector>

#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/model/layer_ops.h"
#include "sim/step/duration.h"

namespace foretoken::step {

/// Which stream of a GPU an op runs on.
enum class OpStream : std::uint8_t { kCompute, kTensorComm, kContextComm };

/// One kernel or collective with its duration and the host time that issuing it takes.
struct TimedOp {
  std::string_view name;
  model::OpRole role = model::OpRole::kElementwise;
  OpStream stream = OpStream::kCompute;
  des::Duration duration;
  des::Duration host;
  bool beside_next = false;  ///< runs beside the next kernel; the kernel after that waits for it
  Bytes payload{};           ///< of collectives, as in CollectiveShape, and of messages
  bool matrix = false;       ///< a matrix product
  bool recomputed = false;   ///< repeats work of the forward pass
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
};

/// Times all blocks of `job`. Recomputed ops include their collectives, which nothing hides.
[[nodiscard]] LayerBlocks time_blocks(const job::Job& job);

/// Time of one collective over the tensor-parallel group, with the runtime's factor.
[[nodiscard]] Seconds tensor_collective_time(const job::Job& job, CollectiveKind kind, Bytes payload);

}  // namespace foretoken::step
