// NVLink cables between the GPUs of a node, and the rates that groups of ranks get from them.
#pragma once

#include <vector>

#include "sim/net/cluster.h"
#include "sim/net/rank_grid.h"

namespace foretoken::net {

/// Returns the cables of a host: the stated ones, or the usual ones of its kind of NVLink. These are bridged pairs, or
/// the hybrid cube mesh of DGX-1 (NVIDIA, "NVIDIA DGX-1 With Tesla V100 System Architecture", WP-08437, figure 4). The
/// list is empty where a switch joins all GPUs, or nothing does.
///
/// Precondition: without stated cables, a hybrid cube mesh has 8 GPUs.
[[nodiscard]] std::vector<NvlinkCables> cables_of(const Cluster& cluster);

/// Returns the cables of the GPU that has most. That GPU has the whole NVLink rate of the cluster. 0 means no cables.
[[nodiscard]] int most_cables(const std::vector<NvlinkCables>& cables);

/// Returns the links of a node as the collectives of a job's groups find them. Ranks stand in order on the nodes.
///
/// NVLink counts where the ranks of a group on one node can form a ring with a cable between every two neighbours. Its
/// rate then comes from the cables that a rank has to others of its group; the worst group decides. Without a ring the
/// rate is zero, and the group talks over PCIe. All groups then share the links of the PCIe tree, and `groups_on_pcie`
/// counts those on the fullest one; for messages and copies below, too. Behind an NVLink switch, and for groups with
/// one rank a node, the links are the cluster's own.
///
/// Source: nccl src/graph/search.cc. ncclTopoCompute first looks for rings over NVLink only, as many as the cables
/// carry. It takes slower paths when there is none. On a DGX-1 such rings use all six cables of a GPU. Holds for:
/// groups whose cables split into rings of their own. Up to 8 GPUs the ring is searched. Among more GPUs, a rank must
/// be joined to half of the others; then a ring exists (Dirac's theorem).
[[nodiscard]] NodeLinks collective_links(const Cluster& cluster, const RankGroups& groups);

/// Returns the links of one group whose ranks may stand in any order. `on_nodes` has a list for each node that the
/// group touches: the numbers of its GPUs inside that node, from 0.
[[nodiscard]] NodeLinks links_among(const Cluster& cluster, const std::vector<std::vector<int>>& on_nodes);

/// Returns the links for messages between neighbours of a group; the last and the first are neighbours too. NVLink is
/// the cables between the two. It is zero where any two on one node have no cable.
[[nodiscard]] NodeLinks message_links(const Cluster& cluster, const RankGroups& groups);

/// Returns the links for copies between any two ranks of a group. NVLink is the cables of the pair that has fewest. It
/// is zero where a pair on one node has none.
[[nodiscard]] NodeLinks pair_links(const Cluster& cluster, const RankGroups& groups);

/// Returns the links for messages between a rank of the first stage and its partner on the last, which hold the same
/// embedding.
[[nodiscard]] NodeLinks tied_links(const Cluster& cluster, const RankGrid& grid);

/// Returns true when the cluster has NVLink, but not for all of these groups. Their collectives then go over PCIe.
[[nodiscard]] bool lacks_cables(const Cluster& cluster, const RankGroups& groups);

}  // namespace foretoken::net
