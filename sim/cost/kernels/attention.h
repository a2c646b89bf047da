// Finds the laws of a profile for a head dimension.
#pragma once

#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// The laws of the nearest measured head dimensions: at and below, at and above. At least one is there.
struct NearestLaws {
  const AttentionLaw* below = nullptr;
  const AttentionLaw* above = nullptr;
};

/// Returns the laws of the shape's kernel and precision. Engines of inference have laws of their own only at the head
/// dimensions and masks that were measured.
/// Precondition: the profile has laws of FlashAttention-2 where an older kernel is asked for.
[[nodiscard]] const std::vector<AttentionLaw>& laws_of(const AttentionLaws& attention, const AttentionShape& shape);

/// Returns true when some law has this mask.
[[nodiscard]] bool has_mask(const std::vector<AttentionLaw>& laws, bool causal);

/// Returns true where training runs the shape in 8 bits without a mask, and the profile has causal laws of 8 bits
/// alone. Its time then has the proportion to 16 bits that causal kernels have.
[[nodiscard]] bool is_mask_assumed(const AttentionLaws& attention, const AttentionShape& shape);

/// Precondition: `laws` has a law with this mask.
[[nodiscard]] NearestLaws nearest_laws(const std::vector<AttentionLaw>& laws, bool causal, int head_dim);

}  // namespace foretoken::cost
