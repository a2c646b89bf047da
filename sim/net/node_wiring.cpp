// Measures distances in the PCIe tree of a node.
#include "sim/net/node_wiring.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace foretoken::net {
namespace {

/// The way down to a device: the index of its socket, of the switch in the socket, and so on.
using Way = std::vector<std::size_t>;

struct Ways {
  std::map<int, Way> gpus, nics;
};

void collect(const PcieTree& tree, const Way& way, Ways& ways) {
  for (const int gpu : tree.gpus) ways.gpus[gpu] = way;
  for (const int nic : tree.nics) ways.nics[nic] = way;
  for (std::size_t i = 0; i < tree.switches.size(); ++i) {
    Way below = way;
    below.push_back(i);
    collect(tree.switches[i], below, ways);
  }
}

/// Counts the links between the ends of two ways. Two sockets are one link apart.
std::size_t hops(const Way& a, const Way& b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto shared = static_cast<std::size_t>(at - a.begin());
  const std::size_t up_and_down = a.size() + b.size() - 2 * shared;
  return shared == 0 ? up_and_down - 1 : up_and_down;
}

/// Returns the GPUs in a tree.
std::set<int> gpus_of(const PcieTree& tree) {
  std::set<int> all(tree.gpus.begin(), tree.gpus.end());
  for (const PcieTree& below : tree.switches) all.merge(gpus_of(below));
  return all;
}

/// Counts the groups that have GPUs inside and outside of each switch of `tree`, and returns the most.
int most_through_a_switch(const PcieTree& tree, const std::vector<std::vector<int>>& groups) {
  int most = 0;
  for (const PcieTree& below : tree.switches) {
    const std::set<int> inside = gpus_of(below);
    const auto passes = [&](const std::vector<int>& group) {
      const auto here = std::ranges::count_if(group, [&](int gpu) { return inside.contains(gpu); });
      return here > 0 && here < std::ssize(group);
    };
    most =
        std::max({most, static_cast<int>(std::ranges::count_if(groups, passes)), most_through_a_switch(below, groups)});
  }
  return most;
}

}  // namespace

std::vector<PcieTree> pcie_trees(const NodeWiring& wiring, int gpus, int nics) {
  if (!wiring.sockets.empty()) return wiring.sockets;
  const int switches = std::clamp(nics, 1, gpus);
  std::vector<PcieTree> below(static_cast<std::size_t>(switches));
  const auto share = [&](int device, int of) { return static_cast<std::size_t>(device * switches / of); };
  for (int i = 0; i < gpus; ++i) below[share(i, gpus)].gpus.push_back(i);
  for (int i = 0; i < nics; ++i) below[share(i, nics)].nics.push_back(i);
  return {PcieTree{.gpus = {}, .nics = {}, .switches = std::move(below)}};
}

int groups_on_fullest_link(const std::vector<PcieTree>& trees, const std::vector<std::vector<int>>& groups) {
  int most = 1;
  std::vector<std::set<int>> inside;
  for (const PcieTree& tree : trees) {
    inside.push_back(gpus_of(tree));
    most = std::max(most, most_through_a_switch(tree, groups));
  }
  std::map<std::pair<std::size_t, std::size_t>, int> between;  // by the sockets, in order
  for (const std::vector<int>& group : groups) {
    std::vector<std::size_t> met;
    for (std::size_t s = 0; s < inside.size(); ++s)
      if (std::ranges::any_of(group, [&](int gpu) { return inside[s].contains(gpu); })) met.push_back(s);
    if (met.size() < 2) continue;
    for (std::size_t i = 0; i + 1 < met.size(); ++i) ++between[{met[i], met[i + 1]}];
    if (met.size() > 2) ++between[{met.front(), met.back()}];
  }
  for (const auto& [sockets, count] : between) most = std::max(most, count);
  return most;
}

std::vector<std::vector<int>> nearest_nics(const std::vector<PcieTree>& sockets, int gpus) {
  Ways ways;
  for (std::size_t s = 0; s < sockets.size(); ++s) collect(sockets[s], {s}, ways);
  std::vector<std::vector<int>> nearest(static_cast<std::size_t>(gpus));
  for (const auto& [gpu, way] : ways.gpus) {
    std::size_t least = 0;
    auto& near = nearest[static_cast<std::size_t>(gpu)];
    for (const auto& [nic, other] : ways.nics) {
      const std::size_t distance = hops(way, other);
      if (!near.empty() && distance > least) continue;
      if (!near.empty() && distance < least) near.clear();
      least = distance;
      near.push_back(nic);
    }
  }
  return nearest;
}

}  // namespace foretoken::net
