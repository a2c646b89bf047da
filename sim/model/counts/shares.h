// The part of a weight that one rank holds.
#pragma once

#include "sim/model/block.h"

namespace foretoken::model {

/// Returns true for weights of experts. Other ranks reduce their gradients than those of the rest.
[[nodiscard]] constexpr bool is_of_experts(const Weight& weight) { return weight.axes.contains(Axis::kExpert); }

/// Counts the ranks that share one weight of an expert.
[[nodiscard]] constexpr int ranks_of_expert(const Weight& weight, const LayerContext& context) {
  return weight.axes.contains(Axis::kExpertTensor) ? context.experts.expert_tensor : 1;
}

}  // namespace foretoken::model
