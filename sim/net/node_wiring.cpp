// Measures distances in the PCIe tree of a node.
#include "sim/net/node_wiring.h"

#include <algorithm>
#include <map>

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

}  // namespace

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
