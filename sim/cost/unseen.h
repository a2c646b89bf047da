// Which collectives of a profile nobody measured on its GPUs.
#pragma once

#include "sim/base/kernel.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// Whether nothing measured on this architecture stands behind a curve: it is another GPU's, or it was taken from
/// another collective that moves its bytes otherwise. (A gather or a scatter is half of an all-reduce's ring.)
[[nodiscard]] constexpr bool unseen(CollectiveKind kind, Provenance provenance) {
  const bool half = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  return provenance == Provenance::kScaled || (provenance == Provenance::kAssumed && !half);
}

}  // namespace foretoken::cost
