// NVLink cables straight between the GPUs of a node, and the links that groups of ranks find there.
#pragma once

#include <vector>

#include "sim/net/cluster.h"
#include "sim/net/rank_grid.h"

namespace foretoken::net {

/// The cables of a host: those that the cluster states, or those of its kind of NVLink (bridged pairs; the hybrid cube
/// mesh of DGX-1: NVIDIA, "NVIDIA DGX-1 With Tesla V100 System Architecture", WP-08437, figure 4). None where a switch
/// joins all GPUs, or nothing does. Precondition: without cables stated, a hybrid cube mesh has 8 GPUs.
[[nodiscard]] std::vector<NvlinkCables> cables_of(const Cluster& cluster);

/// Cables of the GPU that has most: it has the whole NVLink rate of the cluster. 0: there is none.
[[nodiscard]] int most_cables(const std::vector<NvlinkCables>& cables);

/// Links of a node as the collectives of a job's groups find them, ranks in order on the nodes.
///
/// NVLink counts where the ranks of a group on one node can form a ring in which a cable joins every two neighbours,
/// with the rate of the cables that a rank has to others of its group; the worst group decides. Otherwise its rate is
/// zero: the group talks over PCIe. Behind a switch, and for groups with one rank a node, links are the cluster's own.
/// Source: nccl src/graph/search.cc (ncclTopoCompute looks for rings over NVLink alone first, as many as the cables
/// carry, and takes slower paths when there is none); on a DGX-1 such rings use all six cables of a GPU.
/// Holds for: groups whose cables split into rings of their own. Whether there is a ring is searched among up to 8
/// GPUs; among more a rank must be joined to half of the others (Dirac's theorem: then there is one).
[[nodiscard]] NodeLinks collective_links(const Cluster& cluster, const RankGroups& groups);

/// The same for messages between neighbours of a group, the last and the first included: NVLink is the cables between
/// the two, zero where any two on one node have none.
[[nodiscard]] NodeLinks message_links(const Cluster& cluster, const RankGroups& groups);

/// The same for pairs of a rank of the first stage and its partner on the last, which hold the same embedding.
[[nodiscard]] NodeLinks tied_links(const Cluster& cluster, const RankGrid& grid);

/// True when the cluster has NVLink, but not for all of these groups: their collectives go over PCIe.
[[nodiscard]] bool lacks_cables(const Cluster& cluster, const RankGroups& groups);

}  // namespace foretoken::net
