// The units that a job with sharded gradients gathers and reduces at once, and the ranks that share them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::step {

/// The ranks over which weights are sharded.
enum class ShardRanks : std::uint8_t {
  kReplicas,    ///< data x context: all weights but those of experts on a grid of their own
  kExpertData,  ///< ranks with the same experts
};
inline constexpr std::array kShardRanks{ShardRanks::kReplicas, ShardRanks::kExpertData};

/// Parameters that are gathered or reduced at once. Norms and biases are too small to be sharded one by one
/// (DeepSpeed's stage3_param_persistence_threshold) and do not count as tensors.
struct Amount {
  double parameters = 0;
  int tensors = 0;

  Amount& operator+=(Amount other);
};

/// One amount for each group of ranks.
class Amounts {
 public:
  [[nodiscard]] Amount& operator[](ShardRanks ranks) { return amounts_[static_cast<std::size_t>(ranks)]; }
  [[nodiscard]] const Amount& operator[](ShardRanks ranks) const { return amounts_[static_cast<std::size_t>(ranks)]; }

 private:
  std::array<Amount, kShardRanks.size()> amounts_{};
};

/// A layer, or the root: embedding, final norm and head.
struct Unit {
  static constexpr int kRoot = -1;

  Amounts gathered, reduced;  ///< weights that do not train are gathered only
  int layer = kRoot;

  /// Returns the part of it that stands outside the GPU.
  [[nodiscard]] double away(const job::Offloaded& part) const {
    return layer == kRoot ? part.of_ends() : part.of_layer(layer);
  }
};

struct Units {
  Unit root;
  std::vector<Unit> layers;  ///< in forward order
};

/// Returns the units of a job with one stage and one chunk. Experts on a grid of their own are sharded over expert-data
/// ranks, all else over data x context:
///
///   - torchtitan@05a6cb3, torchtitan/models/llama4/infra/parallelize.py, apply_fsdp: experts over edp_mesh, the router
///     and shared experts with the rest of the layer,
///   - Megatron-LM@599fe92, megatron/core/distributed/fsdp/mcore_fsdp_adapter.py, _init_dist_index: expt_device_mesh,
///   - DeepSpeed's AutoEP with stage 3 (docs/_pages/config-json.md). Its own class of experts stops with that stage.
[[nodiscard]] Units sharded_units(const job::Job& job);

/// Counts the ranks of one group.
[[nodiscard]] int ranks_of(const job::Job& job, ShardRanks ranks);

}  // namespace foretoken::step
