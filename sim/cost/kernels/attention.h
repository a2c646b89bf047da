// Which laws of a profile speak for a head dimension.
#pragma once

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// The laws of the nearest measured head dimensions at and below, and at and above; at least one is there.
struct NearestLaws {
  const AttentionLaw* below = nullptr;
  const AttentionLaw* above = nullptr;
};

/// Precondition: `attention` has a law with this mask.
[[nodiscard]] NearestLaws nearest_laws(const std::vector<AttentionLaw>& laws, bool causal, int head_dim);

}  // namespace foretoken::cost
