// The time of a collective by NCCL's choice, in closed form. It is used where nothing was fitted.
#pragma once

#include "sim/base/kernel.h"
#include "sim/cost/collectives/nccl_wire.h"

namespace foretoken::cost {

/// NCCL on a kind of machine.
struct NcclSystem {
  NcclArchitecture architecture = NcclArchitecture::kAmpere;
  NcclTuning tuning;
  bool stands_in =
      true;  ///< its times are used for collectives that nobody measured; otherwise only its algorithms are
};

/// Time of a collective: the bytes of each GPU's links, and of each node's NICs, in one direction, over the rates they
/// reach.
///
///   t = latency of the choice + fill sqrt(V) + max(bytes of a GPU / NVLink, bytes of a node / its share of the NICs)
///
/// Source: NCCL's choice (nccl_choice.h) and its numbers (nccl_wire.h); bytes by algorithm in nccl_law.cpp.
/// Holds for: GPUs under one NVLink switch; equal ranks on every node; no other traffic than `groups_per_node` equal
/// groups. On such clusters it equals the time of the flows of sim/ranks/nccl_flows.h; a test checks this.
/// Error: docs/modeller/collectives.md.
/// Precondition: two ranks or more; links that the group uses have a rate.
[[nodiscard]] Seconds nccl_time(const CollectiveShape& shape, const NodeLinks& links, const NcclSystem& system,
                                const NcclSettings& settings = {});

}  // namespace foretoken::cost
