// Cables by kind of NVLink; rings of cables.
#include "sim/net/cables.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::net {
namespace {

// NVLink 2 cables between the GPUs of a DGX-1 with V100 (`nvidia-smi topo -m`: NV1 and NV2); six a GPU.
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

  /// The part of a GPU's NVLink rate that every member of a group has to the others; 0 without a ring.
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

  /// Whether order[0 .. placed) can be continued to a ring by some order of the rest.
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

/// Whether groups lie on every node of a job as on the first.
bool all_nodes_alike(RankRow row, int domain) {
  const int block = row.stride * row.count;
  return domain % block == 0 || (block % domain == 0 && domain % row.stride == 0);
}

/// The ranks of each group on each node, nodes that are alike but once.
std::vector<Gpus> groups_on_nodes(int gpus, int domain, RankRow row) {
  std::vector<Gpus> groups;
  const int block = row.stride * row.count, end = all_nodes_alike(row, domain) ? std::min(gpus, domain) : gpus;
  for (int node = 0; node < end; node += domain) {
    std::map<std::pair<int, int>, Gpus> here;
    for (int rank = node; rank < std::min(node + domain, end); ++rank)
      here[{rank / block, rank % row.stride}].push_back(rank - node);
    for (auto& [name, members] : here)
      if (members.size() > 1) groups.push_back(std::move(members));
  }
  return groups;
}

/// The same for neighbours of a group.
std::vector<Gpus> neighbours_on_nodes(int gpus, int domain, RankRow row) {
  std::vector<Gpus> pairs;
  const int block = row.stride * row.count, end = all_nodes_alike(row, domain) ? std::min(gpus, domain) : gpus;
  for (int rank = 0; rank < end; ++rank) {
    const int next = rank / block * block + (rank % block + row.stride) % block;
    if (next != rank && next < gpus && next / domain == rank / domain) pairs.push_back({rank % domain, next % domain});
  }
  return pairs;
}

template <class Groups>
NodeLinks links_among(const Cluster& cluster, Degrees degrees, RankRow row, const Groups& groups_of) {
  NodeLinks links = cluster.links;
  if (row.count < 2 || row.stride >= links.gpus) return links;
  const std::vector<NvlinkCables> all = cables_of(cluster);
  if (all.empty()) return links;
  const Cables cables(all);
  double least = 1;
  for (const Gpus& group : groups_of(degrees.gpus(), links.gpus, row)) least = std::min(least, cables.share_of(group));
  links.nvlink_per_gpu = least * links.nvlink_per_gpu;
  return links;
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

NodeLinks collective_links(const Cluster& cluster, Degrees degrees, RankRow row) {
  return links_among(cluster, degrees, row, groups_on_nodes);
}

bool lacks_cables(const Cluster& cluster, Degrees degrees, RankRow row) {
  return cluster.links.nvlink_per_gpu.value() > 0 &&
         collective_links(cluster, degrees, row).nvlink_per_gpu.value() == 0;
}

NodeLinks message_links(const Cluster& cluster, Degrees degrees, RankRow row) {
  return links_among(cluster, degrees, row, neighbours_on_nodes);
}

}  // namespace foretoken::net
