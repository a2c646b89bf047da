// Finds the collectives of a profile that nobody measured on its GPUs.
#pragma once

#include "sim/base/kernel.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// Returns true when no measurement on this architecture supports a curve. The curve is another GPU's, or was taken
/// from another collective that moves its bytes otherwise. A gather or a scatter is half of an all-reduce's ring, so it
/// counts as measured.
[[nodiscard]] constexpr bool unseen(CollectiveKind kind, Provenance provenance) {
  const bool half = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  return provenance == Provenance::kScaled || (provenance == Provenance::kAssumed && !half);
}

}  // namespace foretoken::cost
