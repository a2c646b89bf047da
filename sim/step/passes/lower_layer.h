// Times the ops of layers, embedding and head: the model states the ops, the profile their cost, the runtime the rest.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/model/layer_ops.h"
#include "sim/step/communication.h"
#include "sim/step/memory/parameters.h"

namespace foretoken::step {

/// What an op without an axis spends its time on.
enum class KernelKind : std::uint8_t {
  kOther,
  kProduct,
  kExpertProduct,  ///< products of routed experts
  kWait            ///< the GPU waits for the host
};

/// One kernel or collective with its duration and the host time that issuing it takes.
struct TimedOp {
  std::string_view name;
  model::OpRole role = model::OpRole::kElementwise;
  std::optional<Axis> axis{};  ///< axis of the ranks that it exchanges with; none: a kernel
  des::Duration duration{};
  des::Duration host{};
  bool beside_next = false;                        ///< runs beside the next kernel; the kernel after that waits for it
  std::optional<CommunicationId> communication{};  ///< its row in LayerBlocks; absent when it computes
  KernelKind kind = KernelKind::kOther;
  bool recomputed = false;                                 ///< repeats work of the forward pass
  model::BackwardPart part = model::BackwardPart::kInput;  ///< backward passes only
};
using TimedOps = std::vector<TimedOp>;

/// Returns the ops of one part of a backward pass. A collective may run beside a kernel of the other part; then it
/// delays the next kernel.
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

/// The passes of a block in a pair with the pass of another micro-batch, which hides exchanges of experts.
struct TimedPair {
  TimedOps forward, backward;
  TimedOps recomputing;  ///< the backward pass with the recomputation that the job asks for
};

/// The passes of one block: a layer of one kind, the embedding or the head.
struct TimedBlock {
  TimedOps forward;
  TimedBackward backward;     ///< without recomputation
  TimedBackward recomputing;  ///< with the recomputation that the job asks for
  TimedPair pair;             ///< empty unless the schedule has pairs
};

/// The timed op lists of a job. Every pass of every chunk is made of these blocks.
struct LayerBlocks {
  std::vector<TimedBlock> layers;  ///< by kind, as in model::decoder_layers()
  TimedBlock embedding, head;
  BlockParameters trained;        ///< parameters with gradients
  Communications communications;  ///< of all blocks; stages count from the first stage with these blocks
};

/// Returns the number of ops in all lists of `blocks`, a measure of their memory.
[[nodiscard]] std::size_t ops_of(const LayerBlocks& blocks);

/// Times all blocks of `job`. Recomputed ops include their collectives, which run beside nothing.
[[nodiscard]] LayerBlocks time_blocks(const job::Job& job);

}  // namespace foretoken::step
