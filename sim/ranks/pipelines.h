// NCCL's algorithms as pipelines: the bytes and the hops of every channel of a collective.
#pragma once

#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/collectives/nccl_choice.h"
#include "sim/net/channels.h"

namespace foretoken::ranks {

/// The link from a GPU to its node's NVLink switch, or back.
struct SwitchHop {
  net::FabricGpu gpu;
  bool out = true;
};

/// Bytes that pass all of these hops at one rate.
struct Pipeline {
  std::vector<net::Hop> hops;
  std::vector<SwitchHop> in_switch;
  int nic = 0;  ///< between nodes: the number of the NIC among those near the GPU that a hop leaves through
  Bytes bytes;
};

/// The members of a collective, and the links near them.
struct Communicator {
  net::Members members;
  int nics_near = 1;     ///< NICs near each GPU
  double multicast = 1;  ///< part of NVLink's rate in reductions of the switch
};

/// Counts channels. Inside a node there is one. Between nodes each NIC near as many members as the smallest node has
/// makes one.
[[nodiscard]] int channels_of(const Communicator& communicator);

/// The bytes of a collective: `sent` by each rank of a ring, and `payload` as in CollectiveShape.
struct Volume {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes sent, payload;
};

/// Returns a collective's pipelines.
///   rings           the sent bytes, divided among their channels
///   trees           the payload up and down, half of it on each of NCCL's two trees
///   NVLS, NVLSTree  a share of the payload for each head, which the switch reduces and multicasts, and trees of heads
///                   between nodes
/// A gather only multicasts, a scatter only reduces. Precondition: two GPUs or more; in the switch, equally many on
/// every node.
[[nodiscard]] std::vector<Pipeline> pipelines_of(cost::NcclAlgorithm algorithm, const Volume& volume,
                                                 const Communicator& communicator);

}  // namespace foretoken::ranks
