// The time of one message or copy between two GPUs.
#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::cost {

/// Time of one send and its receive.
///
///   t = correction(payload) (latency + x + spread sqrt(x)),   x = payload / (efficiency x rate)
///   rate inside a node: the GPU's NVLink, or PCIe; across nodes: the sender's share of the NICs
///
/// Source: nccl-tests sendrecv tables; see the profile.
/// Holds for: a pair that shares its links only with the other senders of its node.
/// Error: three public tables only; see docs/modeller/costs.md.
/// Precondition: the link that the message takes exists.
Seconds point_to_point_time(const PointToPointShape& shape, const NodeLinks& links, const Profile& profile) {
  expects(shape.senders_per_node >= 1, "a sender is one of the node's senders");
  expects(shape.payload >= Bytes(0), "a message has no negative size");
  const PointToPointLaw& law = profile.point_to_point;
  const bool nvlink = links.nvlink_per_gpu.value() > 0;
  const PointToPointLaw::Path& path = shape.crosses_nodes ? law.network : nvlink ? law.nvlink : law.pcie;
  const BytesPerSecond rate = shape.crosses_nodes ? network_share(links, 1, shape.senders_per_node)
                              : nvlink            ? links.nvlink_per_gpu
                                                  : links.pcie_share();
  expects(rate.value() > 0, "the link that a message takes has a rate");
  const BytesPerSecond reached = path.efficiency * rate;
  return size_factor(path.correction, shape.payload) *
         (path.latency + volume_time(shape.payload, reached, path.spread, reached));
}

/// Time of one copy by a copy engine.
///
///   t = launch + payload / (0.88 x NVLink)
///
/// Source: 397 of 450 GB/s between every two of eight Hopper GPUs (NVIDIA, "NVIDIA NVbandwidth: Your Essential Tool for
/// Measuring GPU Interconnect and Memory Performance", 2026-04-14, multinode_device_to_device_memcpy_read_ce). The
/// launch is that of a memory-bound kernel. Holds for: every GPU copies from one, and to one.
/// Error: Blackwell reaches 821 of 900 GB/s, 3 % more; nothing is known of Ampere.
/// Precondition: NVLink joins the two.
Seconds peer_copy_time(Bytes payload, const NodeLinks& links, const Profile& profile) {
  constexpr double kPartOfNvlink = 0.88;
  expects(links.nvlink_per_gpu.value() > 0, "copies between GPUs take NVLink");
  expects(payload >= Bytes(0), "a copy has no negative size");
  return profile.memory_bound.launch + payload / (kPartOfNvlink * links.nvlink_per_gpu);
}

}  // namespace foretoken::cost
