// The share of a node's NICs that one group of ranks gets.
#pragma once

#include <algorithm>

#include "sim/base/placement.h"

namespace foretoken::cost {

/// Rate into and out of one node for a group with `ranks` GPUs there, while `groups` such groups communicate. It is an
/// even share of all NICs, at most the rate of the NICs of its own GPUs. Each GPU drives its nearest NIC, or several
/// when there are more NICs than GPUs. The oversubscription of the fabric above divides all rates.
/// Source: NCCL's channel search gives each GPU its nearest NICs (nccl src/graph/search.cc).
[[nodiscard]] inline BytesPerSecond network_share(const NodeLinks& links, int ranks, int groups) {
  const double nics_per_gpu = std::max(1.0, static_cast<double>(links.nics) / links.gpus);
  const BytesPerSecond own = static_cast<double>(ranks) * nics_per_gpu * links.nic;
  return std::min(own, links.nics_total() / static_cast<double>(groups)) / links.oversubscription;
}

}  // namespace foretoken::cost
