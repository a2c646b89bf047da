// Adds up the messages of an all-to-all on every link.
#include "sim/ranks/all_to_all.h"

#include <numeric>

#include "sim/base/check.h"

namespace foretoken::ranks {

std::vector<Leg> AllToAlls::legs(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone) {
  const auto [known, is_new] = known_.try_emplace({gpus.begin(), gpus.end()});
  if (is_new) known->second = one_byte(gpus, alone);
  std::vector<Leg> legs = known->second.legs;
  for (Leg& leg : legs) leg.bytes = (transfer / known->second.time) * leg.bytes;
  return legs;
}

// A message is cut into as many pieces as divide evenly over the NICs near any GPU. Pieces are counted, so that links
// with equal loads are found exactly.
AllToAlls::OneByte AllToAlls::one_byte(std::span<const net::FabricGpu> gpus, Alone alone) {
  expects(gpus.size() >= 2, "an all-to-all has at least two GPUs");
  int pieces = 1;
  for (const net::FabricGpu gpu : gpus) pieces = std::lcm(pieces, std::max(1, wires_.nics_near(gpu)));
  std::vector<Pipeline> messages;
  std::map<des::LinkId, int> load;  // pieces
  std::vector<des::LinkId> route;
  for (const net::FabricGpu from : gpus)
    for (const net::FabricGpu to : gpus) {
      if (from == to) continue;
      const net::Hop hop{from, to, from};
      const int nics = wires_.node_of(from) == wires_.node_of(to) ? 1 : wires_.nics_near(from);
      for (int nic = 0; nic < nics; ++nic) {
        messages.push_back({{hop}, {}, nic, Bytes(1.0 / nics)});
        route.clear();
        wires_.take(hop, nic, route);
        for (const des::LinkId link : route) load[link] += pieces / nics;
      }
    }
  std::map<int, std::vector<des::LinkId>> links;  // by load
  for (const auto& [link, passed] : load) links[passed].push_back(link);
  OneByte result{{}, wires_.time_alone(messages, alone)};
  for (auto& [passed, of_load] : links)
    result.legs.push_back({std::move(of_load), Bytes(static_cast<double>(passed) / pieces)});
  return result;
}

}  // namespace foretoken::ranks
