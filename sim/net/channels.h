// The channels of a communicator as NCCL builds them: rings over its nodes, and double binary trees.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "sim/net/fabric_ids.h"

namespace foretoken::net {

/// GPUs of a communicator, one list for each node. No list is empty.
using Members = std::vector<std::vector<FabricGpu>>;

/// Cuts `gpus`, in ascending order, where a new node of `gpus_per_node` begins. Precondition: gpus is not empty.
[[nodiscard]] Members members_of(std::span<const FabricGpu> gpus, int gpus_per_node);

/// A node's neighbours in a tree over the nodes of a communicator, by their positions in it. Children stand in the slot
/// that the parent receives them in.
struct TreePlace {
  std::optional<int> parent;
  std::array<std::optional<int>, 2> children;
  friend bool operator==(const TreePlace&, const TreePlace&) = default;
};
using Tree = std::vector<TreePlace>;

/// Returns the two trees of NCCL. The first is a binary tree whose leaves are the odd nodes. The second is the first
/// mirrored (an even number of nodes) or shifted by one (an odd number). A node is inner in at most one of them.
/// Source: nccl src/graph/trees.cc. Precondition: nodes >= 1.
[[nodiscard]] std::array<Tree, 2> double_binary_tree(int nodes);

/// One hop of a channel. A hop between nodes leaves through a NIC near GPU `via`, on the node of `from`. It arrives
/// through the NIC of the same number.
struct Hop {
  FabricGpu from, to, via;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// Returns a ring. On every node it ends at member `exit` (modulo the members), after all others. From there it goes to
/// the next node, where it enters at the member after `exit`. Source: nccl src/graph/connect.cc (connectRings).
/// Precondition: two GPUs or more.
[[nodiscard]] std::vector<Hop> ring_hops(const Members& members, int exit);

/// Returns a tree's hops, up and down. Every node has a chain of its members. The chain begins at member `head` (modulo
/// the members), which sends to the node's parent. A parent receives its first child at the second member of its chain,
/// and its other child at the head ("balanced tree"). Source: nccl src/graph/connect.cc (ncclTopoPreset, connectTrees).
/// Precondition: as many places as nodes.
[[nodiscard]] std::vector<Hop> tree_hops(const Members& members, const Tree& tree, int head);

/// Returns the hops of a tree among one GPU of every node, up and down: the network part of NVLSTree.
[[nodiscard]] std::vector<Hop> head_hops(const Members& members, const Tree& tree, int head);

}  // namespace foretoken::net
