// The conditions of exchanges of experts beside another micro-batch.
#pragma once

#include <optional>
#include <string_view>

#include "sim/job/job.h"

namespace foretoken::job {

/// What decides whether exchanges can run beside the pass of another micro-batch (--overlap-moe-expert-parallel-comm in
/// Megatron-LM@d98e8a6, megatron/core/transformer/transformer_config.py).
struct ExchangeSetting {
  int expert = 1;  ///< degree
  model::Dispatcher dispatcher = model::Dispatcher::kAllToAll;
  bool recomputes_experts = false;
  bool shared_expert_overlap = false;
  bool shards_gradients = false;  ///< ZeRO-2 and 3
};

/// Returns true when the recomputation of a layer repeats its exchanges.
[[nodiscard]] inline bool recomputes_experts(model::RecomputeGranularity granularity,
                                             const model::SelectiveModules& modules) {
  if (granularity == model::RecomputeGranularity::kSelective) return modules.experts;
  return granularity == model::RecomputeGranularity::kFull;
}

/// Returns the reason why exchanges cannot be hidden, if there is one.
[[nodiscard]] inline std::optional<std::string_view> why_exchanges_stay(const ExchangeSetting& setting) {
  if (setting.expert == 1) return "expert 1 has no exchanges";
  if (setting.dispatcher == model::Dispatcher::kAllGather) return "dispatcher \"all-gather\" cannot hide them";
  if (setting.recomputes_experts) return "recomputation repeats the exchanges";
  if (setting.shared_expert_overlap) return "with shared_expert_overlap something else runs beside them";
  if (setting.shards_gradients)
    return "beside sharded gradients (ZeRO-2 and 3) passes wait for gathers, and exchanges hidden there are not "
           "modelled";
  return std::nullopt;
}

}  // namespace foretoken::job
