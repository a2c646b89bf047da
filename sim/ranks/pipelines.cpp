// Lays out rings, double binary trees, and reductions in the NVLink switch.
#include "sim/ranks/pipelines.h"

#include <algorithm>

namespace foretoken::ranks {
namespace {

using cost::NcclAlgorithm;

std::vector<Pipeline> rings(Bytes sent, const Communicator& c) {
  const int channels = channels_of(c), near = c.members.size() == 1 ? 1 : c.nics_near;
  std::vector<Pipeline> all;
  for (int channel = 0; channel < channels; ++channel)
    all.push_back({net::ring_hops(c.members, channel / near), {}, channel % near, sent / channels});
  return all;
}

std::vector<Pipeline> trees(Bytes payload, const Communicator& c) {
  const int channels = channels_of(c), near = c.members.size() == 1 ? 1 : c.nics_near;
  const auto both = net::double_binary_tree(static_cast<int>(c.members.size()));
  std::vector<Pipeline> all;
  for (int channel = 0; channel < channels; ++channel)
    for (const net::Tree& tree : both)
      all.push_back({net::tree_hops(c.members, tree, channel / near), {}, channel % near, payload / (2 * channels)});
  return all;
}

// Returns the hops of one head inside a node. It reduces its share out of all GPUs, and multicasts it back to them.
std::vector<SwitchHop> hops_of_head(CollectiveKind kind, int head, const net::Members& members) {
  const bool reduces = kind != CollectiveKind::kAllGather, multicasts = kind != CollectiveKind::kReduceScatter;
  std::vector<SwitchHop> hops;
  for (const std::vector<net::FabricGpu>& node : members) {
    for (const net::FabricGpu gpu : node) {
      if (reduces) hops.push_back({gpu, /*out=*/true});
      if (multicasts) hops.push_back({gpu, /*out=*/false});
    }
    const net::FabricGpu head_gpu = node[static_cast<std::size_t>(head) % node.size()];
    if (reduces) hops.push_back({head_gpu, /*out=*/false});
    if (multicasts) hops.push_back({head_gpu, /*out=*/true});
  }
  return hops;
}

// Returns the pipelines through switches. Between nodes the heads of the same number form trees.
std::vector<Pipeline> switched(CollectiveKind kind, Bytes payload, const Communicator& c) {
  const int heads = static_cast<int>(c.members.front().size());
  const auto both = net::double_binary_tree(static_cast<int>(c.members.size()));
  std::vector<Pipeline> all;
  for (int head = 0; head < heads; ++head) {
    // The switch reduces at a part of the links' rate, so these hops carry more bytes in proportion.
    all.push_back({{}, hops_of_head(kind, head, c.members), 0, payload / (heads * c.multicast)});
    if (c.members.size() == 1) continue;
    for (const net::Tree& tree : both)
      for (int nic = 0; nic < c.nics_near; ++nic)
        all.push_back({net::head_hops(c.members, tree, head), {}, nic, payload / (2 * heads * c.nics_near)});
  }
  return all;
}

}  // namespace

int channels_of(const Communicator& c) {
  if (c.members.size() == 1) return 1;
  const auto smallest =
      std::min_element(c.members.begin(), c.members.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  return static_cast<int>(smallest->size()) * c.nics_near;
}

std::vector<Pipeline> pipelines_of(NcclAlgorithm algorithm, const Volume& volume, const Communicator& communicator) {
  switch (algorithm) {
    case NcclAlgorithm::kRing:
    case NcclAlgorithm::kPat:  // a tree for each rank's share: as many bytes through each NIC as a ring
      return rings(volume.sent, communicator);
    case NcclAlgorithm::kTree:
      return trees(volume.payload, communicator);
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      break;
  }
  return switched(volume.kind, volume.payload, communicator);
}

}  // namespace foretoken::ranks
