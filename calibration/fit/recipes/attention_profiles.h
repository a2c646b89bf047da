// Attention laws of each architecture: measured where a table exists, in measured proportions elsewhere.
#pragma once

#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/recipes/build_profiles.h"
#include "calibration/fit/recipes/datasheets.h"

namespace foretoken::fit {

/// What the operator table of the A100 PCIe says of the two halves: tails and their ratio.
struct Halves {
  cost::AttentionRate forward, backward;
  cost::Evidence forward_evidence{}, backward_evidence{};
  AttentionGivens givens{};
};

[[nodiscard]] Halves ampere_halves(const Measurements& data);
[[nodiscard]] cost::AttentionLaws a100_attention(const Measurements& data, const Halves& halves);
[[nodiscard]] cost::AttentionLaws hopper_attention(const Measurements& data, const Halves& ampere);
[[nodiscard]] cost::AttentionLaws blackwell_attention(const Measurements& data, const cost::AttentionLaws& hopper);

/// All rates times `factor`; `evidence` says where they come from.
[[nodiscard]] cost::AttentionLaws rescaled(cost::AttentionLaws laws, double factor, const Datasheet& gpu,
                                           const cost::Evidence& evidence);

}  // namespace foretoken::fit
