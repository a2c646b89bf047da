// The time of a collective by NCCL's choice, in closed form: what stands in where nothing was fitted.
#pragma once

#include "sim/base/kernel.h"
#include "sim/cost/collectives/nccl_wire.h"

namespace foretoken::cost {

/// NCCL on a kind of machine.
struct NcclSystem {
  NcclArchitecture architecture = NcclArchitecture::kAmpere;
  NcclTuning tuning;
  bool stands_in = true;  ///< its times do, for collectives that nobody measured; else it says no more than the way
};

/// The bytes that each GPU's links, and each node's NICs, have to pass in one direction, over what they reach.
///
///   t = latency of the choice + fill sqrt(V) + max(bytes of a GPU / NVLink, bytes of a node / its share of the NICs)
///
/// Source: NCCL's choice (nccl_choice.h) and its numbers (nccl_wire.h); bytes by algorithm below.
/// Holds for: GPUs under one NVLink switch; equal ranks on every node; no other traffic than `groups_per_node` equal
/// groups. On such clusters it is the time of the flows of lowering/nccl_flows.h, which a test holds.
/// Error: docs/modeller/collectives.md.
/// Precondition: two ranks or more; links that the group uses have a rate.
[[nodiscard]] Seconds nccl_time(const CollectiveShape& shape, const NodeLinks& links, const NcclSystem& system,
                                const NcclSettings& settings = {});

}  // namespace foretoken::cost
