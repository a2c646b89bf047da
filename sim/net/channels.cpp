// Builds rings and trees over nodes as NCCL does.
#include "sim/net/channels.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::net {
namespace {

/// Returns the parent in the first tree. The lowest set bit moves up by one; it is cleared where that is beyond the
/// last node.
std::optional<int> binary_parent(int node, int nodes) {
  if (node == 0) return std::nullopt;
  const int bit = node & -node;
  const int up = (node ^ bit) | (bit << 1);
  return up < nodes ? up : node ^ bit;
}

/// Returns the first tree with every node renamed. A child keeps the slot that it had under its old name.
template <class Rename>
Tree renamed_tree(int nodes, Rename rename) {
  Tree tree(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node) {
    const std::optional<int> parent = binary_parent(node, nodes);
    if (!parent) continue;
    tree[static_cast<std::size_t>(rename(node))].parent = rename(*parent);
    tree[static_cast<std::size_t>(rename(*parent))].children[node < *parent ? 0 : 1] = rename(node);
  }
  return tree;
}

FabricGpu at(const std::vector<FabricGpu>& node, int index) {
  return node[static_cast<std::size_t>(index) % node.size()];
}

}  // namespace

Members members_of(std::span<const FabricGpu> gpus, int gpus_per_node) {
  expects(!gpus.empty() && std::is_sorted(gpus.begin(), gpus.end()), "a communicator has GPUs in ascending order");
  Members members;
  int node = 0;
  for (const FabricGpu gpu : gpus) {
    const int here = gpu.number() / gpus_per_node;
    if (members.empty() || here != node) members.emplace_back();
    node = here;
    members.back().push_back(gpu);
  }
  return members;
}

std::array<Tree, 2> double_binary_tree(int nodes) {
  expects(nodes >= 1, "a tree has at least one node");
  return {renamed_tree(nodes, [](int node) { return node; }),
          renamed_tree(nodes, [nodes](int node) { return nodes % 2 == 0 ? nodes - 1 - node : (node + 1) % nodes; })};
}

std::vector<Hop> ring_hops(const Members& members, int exit) {
  std::vector<Hop> hops;
  for (std::size_t n = 0; n < members.size(); ++n) {
    const std::vector<FabricGpu>&here = members[n], &next = members[(n + 1) % members.size()];
    const int count = static_cast<int>(here.size());
    for (int i = 1; i < count; ++i) hops.push_back({at(here, exit + i), at(here, exit + i + 1), at(here, exit + i)});
    const FabricGpu last = at(here, exit);
    hops.push_back({last, at(next, exit + 1), last});
  }
  return hops;
}

std::vector<Hop> tree_hops(const Members& members, const Tree& tree, int head) {
  expects(members.size() == tree.size(), "a tree has a place for every node");
  std::vector<Hop> hops;
  const auto both_ways = [&](FabricGpu child, FabricGpu parent, FabricGpu via_child, FabricGpu via_parent) {
    hops.push_back({child, parent, via_child});
    hops.push_back({parent, child, via_parent});
  };
  for (std::size_t n = 0; n < members.size(); ++n) {
    const std::vector<FabricGpu>& here = members[n];
    for (int i = 1; i < static_cast<int>(here.size()); ++i) {
      const FabricGpu below = at(here, head + i), above = at(here, head + i - 1);
      both_ways(below, above, below, above);
    }
    for (std::size_t slot = 0; slot < 2; ++slot) {
      const std::optional<int>& child = tree[n].children[slot];
      if (!child) continue;
      const FabricGpu sender = at(members[static_cast<std::size_t>(*child)], head);
      both_ways(sender, at(here, slot == 0 ? head + 1 : head), sender, at(here, head));
    }
  }
  return hops;
}

std::vector<Hop> head_hops(const Members& members, const Tree& tree, int head) {
  Members heads;
  for (const std::vector<FabricGpu>& node : members) heads.push_back({at(node, head)});
  return tree_hops(heads, tree, 0);
}

}  // namespace foretoken::net
