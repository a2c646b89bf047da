// Times the ops of layers, embedding and head: what the model asks for, at the profile's cost, as the runtime does it.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
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

/// A backward pass, whole and in its two parts.
struct TimedBackward {
  TimedBackward() = default;
  explicit TimedBackward(TimedOps ops)
      : for_input(part_of(ops, model::BackwardPart::kInput)),
        for_weight(part_of(ops, model::BackwardPart::kWeight)),
        whole(std::move(ops)) {}

  TimedOps for_input, for_weight, whole;
};

/// The passes of one block: a layer of one kind, the embedding or the head.
struct TimedBlock {
  TimedOps forward;
  TimedBackward backward;     ///< without recomputation
  TimedBackward recomputing;  ///< with the recomputation that the job asks for
};

/// The timed op lists of a job; every pass of every chunk is made of these blocks.
struct LayerBlocks {
  std::vector<TimedBlock> layers;  ///< by kind, as in model::decoder_layers()
  TimedBlock embedding, head;
  Communications communications;  ///< of all blocks; stages count from the first that has these blocks
};

/// Times all blocks of `job`. Recomputed ops include their collectives, which nothing hides.
[[nodiscard]] LayerBlocks time_blocks(const job::Job& job);

}  // namespace foretoken::step
