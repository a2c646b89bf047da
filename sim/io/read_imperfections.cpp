// Slow GPUs, slow NICs and placement, counted against the job.
#include "sim/io/read_imperfections.h"

#include <fmt/format.h>

#include <algorithm>

namespace foretoken::io {
namespace {

// Far beyond what any part that still works shows; anything else is a wrong unit.
constexpr Range kSlowdown{.low = 0.01, .high = 1000};
constexpr Range kRateFactor{.low = 0.001, .high = 1};

std::vector<int> read_placement(const std::vector<Node>& entries, const Node& node, int gpus) {
  std::vector<int> placement;
  if (entries.size() != static_cast<std::size_t>(gpus)) {
    node.complain("placement", fmt::format("expected the GPU of each of the {} ranks, found {}", gpus, entries.size()));
    return placement;
  }
  std::vector<bool> taken(entries.size(), false);
  for (const Node& entry : entries) {
    const auto gpu = static_cast<std::size_t>(entry.as_whole({.low = 0, .high = gpus - 1}));
    if (taken[gpu]) entry.complain(fmt::format("expected every GPU once, found GPU {} again", gpu));
    taken[gpu] = true;
    placement.push_back(static_cast<int>(gpu));
  }
  return placement;
}

}  // namespace

void read_imperfections(const Node& root, lowering::Scenario& scenario) {
  const std::optional<Node> node = root.find_object("imperfections");
  if (!node) return;
  node->allow_only({"slow_gpus", "slow_nics", "placement"});
  lowering::Imperfections& what = scenario.imperfections;
  const NodeLinks& links = scenario.cluster.links;
  const int nodes = (scenario.gpus + links.gpus - 1) / links.gpus;
  if (const auto entries = node->find_array("slow_gpus")) {
    for (const Node& entry : *entries) {
      const Node slow = entry.as_object();
      slow.allow_only({"gpu", "slowdown"});
      what.slow_gpus.push_back({.gpu = static_cast<int>(slow.whole("gpu", {.low = 0, .high = scenario.gpus - 1})),
                                .slowdown = slow.number("slowdown", kSlowdown)});
    }
  }
  if (const auto entries = node->find_array("slow_nics")) {
    for (const Node& entry : *entries) {
      const Node slow = entry.as_object();
      slow.allow_only({"node", "nic", "rate_factor"});
      what.slow_nics.push_back(
          {.node = static_cast<int>(slow.whole("node", {.low = 0, .high = nodes - 1})),
           .nic = static_cast<int>(slow.whole("nic", {.low = 0, .high = std::max(0, links.nics - 1)})),
           .rate_factor = slow.number("rate_factor", kRateFactor)});
    }
    if (nodes == 1 && !what.slow_nics.empty())
      node->complain("slow_nics", "expected a job of several nodes: this one uses no NIC");
  }
  if (const auto entries = node->find_array("placement"))
    what.placement = read_placement(*entries, *node, scenario.gpus);
}

}  // namespace foretoken::io
