// The channels of a communicator as NCCL builds them: rings over its nodes, and double binary trees.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace foretoken::net {

/// GPUs of a communicator (global numbers), node by node; no node is empty.
using Members = std::vector<std::vector<int>>;

/// `gpus` in ascending order, cut where a new node of `gpus_per_node` begins. Precondition: gpus is not empty.
[[nodiscard]] Members members_of(std::span<const int> gpus, int gpus_per_node);

/// A node's neighbours in a tree over nodes 0, 1, ...; children by the slot that the parent receives them in.
struct TreePlace {
  std::optional<int> parent;
  std::array<std::optional<int>, 2> children;
  friend bool operator==(const TreePlace&, const TreePlace&) = default;
};
using Tree = std::vector<TreePlace>;

/// The two trees of NCCL: a binary tree whose leaves are the odd nodes, and the same mirrored (an even number of
/// nodes) or shifted by one (an odd number), so that a node is inner in at most one of them.
/// Source: nccl src/graph/trees.cc. Precondition: nodes >= 1.
[[nodiscard]] std::array<Tree, 2> double_binary_tree(int nodes);

/// One hop of a channel. Between nodes it leaves through a NIC near GPU `via`, which is on the node of `from`, and
/// arrives through the NIC of the same number.
struct Hop {
  int from = 0, to = 0, via = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// A ring: on every node it ends at member `exit` (counted through), after all others; from there it goes on to the
/// next node, where it enters at the member after. Source: nccl src/graph/connect.cc (connectRings).
/// Precondition: two GPUs or more.
[[nodiscard]] std::vector<Hop> ring_hops(const Members& members, int exit);

/// A tree's hops, up and down: on every node a chain of its members that begins at member `head` (counted through), the
/// one that sends to the node's parent. A parent receives its first child at the second of its chain, its other child
/// at the head ("balanced tree"). Source: nccl src/graph/connect.cc (ncclTopoPreset, connectTrees).
/// Precondition: as many places as nodes.
[[nodiscard]] std::vector<Hop> tree_hops(const Members& members, const Tree& tree, int head);

/// Hops of a tree among one GPU of every node, up and down: the network part of NVLSTree.
[[nodiscard]] std::vector<Hop> head_hops(const Members& members, const Tree& tree, int head);

}  // namespace foretoken::net
