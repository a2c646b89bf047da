// The cables of each kind of NVLink, and the rings that they form.
#include "sim/net/cables.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "sim/base/check.h"
#include "sim/net/fabric_ids.h"

namespace foretoken::net {
namespace {

// NVLink 2 cables between the GPUs of a DGX-1 with V100 (`nvidia-smi topo -m`: NV1 and NV2). A GPU has six.
constexpr std::array<std::array<int, 8>, 8> kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                          {1, 0, 2, 1, 0, 2, 0, 0},
                                                          {1, 2, 0, 2, 0, 0, 1, 0},
                                                          {2, 1, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 1, 1, 2},
                                                          {0, 2, 0, 0, 1, 0, 2, 1},
                                                          {0, 0, 1, 0, 1, 2, 0, 2},
                                                          {0, 0, 0, 1, 2, 1, 2, 0}}};

using Gpus = std::vector<int>;  // of a node

class Cables {
 public:
  explicit Cables(const std::vector<NvlinkCables>& all) : most_(most_cables(all)) {
    for (const auto& [a, b, count] : all) between_[std::minmax(a, b)] = count;
  }

  /// Returns the part of a GPU's NVLink rate that every member of a group has to the others. Without a ring it is 0.
  [[nodiscard]] double share_of(const Gpus& group) const {
    if (!has_ring(group)) return 0;
    int least = most_;
    for (const int gpu : group) {
      int cables = 0;
      for (const int other : group) cables += between(gpu, other);
      least = std::min(least, cables);
    }
    return least / static_cast<double>(most_);
  }

 private:
  [[nodiscard]] int between(int a, int b) const {
    const auto found = between_.find(std::minmax(a, b));
    return found == between_.end() ? 0 : found->second;
  }

  [[nodiscard]] bool has_ring(const Gpus& group) const {
    constexpr std::size_t kSearched = 8;
    if (group.size() > kSearched)
      return std::all_of(group.begin(), group.end(), [&](int gpu) {
        const auto joined =
            std::count_if(group.begin(), group.end(), [&](int other) { return between(gpu, other) > 0; });
        return 2 * static_cast<std::size_t>(joined) >= group.size();
      });
    Gpus order = group;
    return can_end(order, 1);
  }

  /// Returns true when some order of the rest continues order[0 .. placed) to a ring.
  [[nodiscard]] bool can_end(Gpus& order, std::size_t placed) const {
    if (placed == order.size()) return between(order.back(), order.front()) > 0;
    for (std::size_t next = placed; next < order.size(); ++next) {
      if (between(order[placed - 1], order[next]) == 0) continue;
      std::swap(order[placed], order[next]);
      const bool ends = can_end(order, placed + 1);
      std::swap(order[placed], order[next]);
      if (ends) return true;
    }
    return false;
  }

  std::map<std::pair<int, int>, int> between_;  // by lower and higher GPU
  int most_;                                    // of one GPU
};

/// Counts the GPUs of the nodes to look at: one node where all are alike.
int gpus_to_search(const RankGroups& groups, int domain) {
  return groups.nodes_alike(domain) ? std::min(groups.gpus(), domain) : groups.gpus();
}

/// Returns, by node, the ranks of each group there, as GPUs of the node.
std::map<FabricNode, std::vector<Gpus>> groups_by_node(const RankGroups& groups, int domain) {
  std::map<std::pair<FabricNode, Rank>, Gpus> on_node;  // by the lowest rank of each group
  for (const Rank rank : ids<Rank>(gpus_to_search(groups, domain)))
    on_node[{id_of<FabricNode>(rank.number() / domain), groups.first_of(rank)}].push_back(rank.number() % domain);
  std::map<FabricNode, std::vector<Gpus>> found;
  for (auto& [where, members] : on_node)
    if (members.size() > 1) found[where.first].push_back(std::move(members));
  return found;
}

/// Returns the same of all nodes together.
std::vector<Gpus> groups_on_nodes(const RankGroups& groups, int domain) {
  std::vector<Gpus> all;
  for (auto& [node, found] : groups_by_node(groups, domain)) std::ranges::move(found, std::back_inserter(all));
  return all;
}

/// Adds two GPUs if they are on one node.
void add_pair(std::vector<Gpus>& pairs, Rank a, Rank b, int domain) {
  if (a != b && a.number() / domain == b.number() / domain) pairs.push_back({a.number() % domain, b.number() % domain});
}

/// Returns the neighbours in a group that are on one node.
std::vector<Gpus> neighbours_on_nodes(const RankGroups& groups, int domain) {
  std::vector<Gpus> pairs;
  for (const Rank rank : ids<Rank>(gpus_to_search(groups, domain)))
    add_pair(pairs, rank, groups.member(groups.first_of(rank), (groups.place_of(rank) + 1) % groups.size()), domain);
  return pairs;
}

/// Returns every two members of a group that are on one node.
std::vector<Gpus> pairs_on_nodes(const RankGroups& groups, int domain) {
  std::vector<Gpus> pairs;
  for (const Gpus& group : groups_on_nodes(groups, domain))
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t j = i + 1; j < group.size(); ++j) pairs.push_back({group[i], group[j]});
  return pairs;
}

/// Returns the pairs on one node of a rank of the first stage and its partner on the last.
std::vector<Gpus> ends_on_nodes(const RankGrid& grid, int domain) {
  std::vector<Gpus> pairs;
  const Stage first{}, last = id_of<Stage>(grid.degree(Axis::kPipeline) - 1);
  for (const StageRank rank : ids<StageRank>(grid.stage_ranks()))
    add_pair(pairs, grid.rank_of(first, rank), grid.rank_of(last, rank), domain);
  return pairs;
}

/// Returns the least links of any group of GPUs. `groups_in(domain)` lists the groups on nodes of `domain` GPUs.
template <class GroupsIn>
NodeLinks least_links(const Cluster& cluster, const GroupsIn& groups_in) {
  NodeLinks links = cluster.links;
  const std::vector<NvlinkCables> all = cables_of(cluster);
  if (all.empty()) return links;
  const Cables cables(all);
  double least = 1;
  for (const Gpus& gpus : groups_in(links.gpus)) least = std::min(least, cables.share_of(gpus));
  links.nvlink_per_gpu = least * links.nvlink_per_gpu;
  return links;
}

/// Returns `links` with the number of groups on the fullest link of the PCIe tree. Groups with a ring of NVLink cables
/// are not on it.
NodeLinks shared_over_pcie(const Cluster& cluster, NodeLinks links, const RankGroups& groups) {
  if (!links.shares_pcie || links.nvlink_per_gpu.value() > 0) return links;
  const auto trees = pcie_trees(cluster.wiring, cluster.gpus_per_node, links.nics);
  const std::vector<NvlinkCables> all = cables_of(cluster);
  const Cables cables(all);
  for (auto& [node, found] : groups_by_node(groups, links.gpus)) {
    if (!all.empty()) std::erase_if(found, [&](const Gpus& group) { return cables.share_of(group) > 0; });
    links.groups_on_pcie = std::max(links.groups_on_pcie, groups_on_fullest_link(trees, found));
  }
  return links;
}

/// True when no two ranks of a group are on one node.
bool spread_out(const RankGroups& groups, int domain) {
  return groups.size() == 1 || groups.rows().front().stride >= domain;
}

}  // namespace

std::vector<NvlinkCables> cables_of(const Cluster& cluster) {
  std::vector<NvlinkCables> cables = cluster.wiring.cables;
  if (!cables.empty()) return cables;
  const int gpus = cluster.gpus_per_node;
  if (cluster.nvlink_fabric == "bridge")
    for (int i = 0; i + 1 < gpus; i += 2) cables.push_back({i, i + 1, 1});
  if (cluster.nvlink_fabric == "hybrid-cube-mesh") {
    expects(gpus == 8, "a hybrid cube mesh has eight GPUs");
    for (int i = 0; i < gpus; ++i)
      for (int j = i + 1; j < gpus; ++j)
        if (const int count = kCubeMesh[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]; count > 0)
          cables.push_back({i, j, count});
  }
  return cables;
}

int most_cables(const std::vector<NvlinkCables>& cables) {
  std::map<int, int> of_gpu;
  int most = 0;
  for (const auto& [a, b, count] : cables) most = std::max({most, of_gpu[a] += count, of_gpu[b] += count});
  return most;
}

NodeLinks collective_links(const Cluster& cluster, const RankGroups& groups) {
  if (spread_out(groups, cluster.links.gpus)) return cluster.links;
  return shared_over_pcie(cluster, least_links(cluster, [&](int domain) { return groups_on_nodes(groups, domain); }),
                          groups);
}

NodeLinks links_among(const Cluster& cluster, const std::vector<std::vector<int>>& on_nodes) {
  return least_links(cluster, [&](int) {
    std::vector<Gpus> joined;
    for (const Gpus& gpus : on_nodes)
      if (gpus.size() > 1) joined.push_back(gpus);
    return joined;
  });
}

NodeLinks message_links(const Cluster& cluster, const RankGroups& groups) {
  if (spread_out(groups, cluster.links.gpus)) return cluster.links;
  return shared_over_pcie(
      cluster, least_links(cluster, [&](int domain) { return neighbours_on_nodes(groups, domain); }), groups);
}

NodeLinks pair_links(const Cluster& cluster, const RankGroups& groups) {
  if (spread_out(groups, cluster.links.gpus)) return cluster.links;
  return shared_over_pcie(cluster, least_links(cluster, [&](int domain) { return pairs_on_nodes(groups, domain); }),
                          groups);
}

NodeLinks tied_links(const Cluster& cluster, const RankGrid& grid) {
  const Rank on_first = grid.rank_of(Stage{}, StageRank{});
  const Rank on_last = grid.rank_of(id_of<Stage>(grid.degree(Axis::kPipeline) - 1), StageRank{});
  if (on_last.number() - on_first.number() >= cluster.links.gpus) return cluster.links;
  return shared_over_pcie(cluster, least_links(cluster, [&](int domain) { return ends_on_nodes(grid, domain); }),
                          grid.groups(Axis::kPipeline));
}

bool lacks_cables(const Cluster& cluster, const RankGroups& groups) {
  return cluster.links.nvlink_per_gpu.value() > 0 && collective_links(cluster, groups).nvlink_per_gpu.value() == 0;
}

}  // namespace foretoken::net
