// Channels and rates that NCCL finds on a node before it tunes.
#include <algorithm>
#include <span>

#include "sim/base/check.h"
#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::cost {
namespace {

// Rates that the search tries, in GB/s a channel (src/graph/search.cc: speedArrayIntra, speedArrayInter and their sm90
// and sm100 forms, NCCL 2.28).
constexpr double kInside[] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr double kInside90[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kInside100[] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr double kBetween[] = {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double kBetween90[] = {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
constexpr double kBetween100[] = {96, 86,   80, 48, 45.1, 42, 40,  30,  24,   22,
                                  20, 17.5, 15, 12, 6,    3,  2.4, 1.2, 0.24, 0.12};

std::span<const double> rates_to_try(NcclArchitecture architecture, bool inside) {
  if (architecture == NcclArchitecture::kHopper)
    return inside ? std::span<const double>(kInside90) : std::span<const double>(kBetween90);
  if (architecture == NcclArchitecture::kBlackwell)
    return inside ? std::span<const double>(kInside100) : std::span<const double>(kBetween100);
  return inside ? std::span<const double>(kInside) : std::span<const double>(kBetween);
}

double largest_below(std::span<const double> rates, double bound) {
  const auto found = std::find_if(rates.begin(), rates.end(), [&](double rate) { return rate <= bound * (1 + 1e-9); });
  return found == rates.end() ? rates.back() : *found;
}

// Splits wide channels in two, so that more multiprocessors share the work.
NcclGraph split_wide(NcclGraph graph, NcclArchitecture architecture) {
  const bool stays = architecture >= NcclArchitecture::kHopper && graph.inside < 50 && graph.channels > 4;
  if (graph.inside < 25 || stays) return graph;
  return {2 * graph.channels, graph.inside / 2, graph.between / 2};
}

// GB/s as NCCL plans: NVLink by its cables, PCIe by lanes and generation (topo.h), as parts of the nominal rate per
// direction.
struct Planned {
  double nvlink, pcie, nic;
};

Planned planned(NcclArchitecture architecture, const NodeLinks& links, const NcclTuning& tuning) {
  const double cables = links.nvlink_per_gpu.value() / 1e9 / nvlink_cable(architecture);
  const double pcie = links.pcie_per_gpu.value() / 1e9 * kNcclPartOfPcie;
  // Ports that share a GPU count as one device. NCCL merges the ports of a card (NCCL_IB_MERGE_NICS), and the plugin of
  // EFA merges the ports beside a GPU.
  const double merged = std::max(1, links.nics / links.gpus);
  return {cables * tuning.nvlink_per_link[static_cast<std::size_t>(architecture)], pcie,
          merged * links.nic.value() / 1e9};
}

}  // namespace

NcclPlatform nccl_platform(NcclArchitecture architecture, const NodeLinks& links, bool nvlink_switch, int nodes,
                           int ranks_a_node, const NcclTuning& tuning) {
  const Planned rate = planned(architecture, links, tuning);
  NcclPlatform platform;
  platform.architecture = architecture;
  platform.amd_cpu = architecture == NcclArchitecture::kAmpere;
  platform.nvlink = links.nvlink_per_gpu.value() > 0;
  platform.plain_tree = nodes > 1 && ranks_a_node == 1;
  const double total = std::max(rate.nvlink, rate.pcie);
  const bool inside = nodes == 1;
  NcclGraph ring;
  if (inside) {
    const double each = largest_below(rates_to_try(architecture, true), total);
    ring = {std::max(1, static_cast<int>(total / each + 1e-9)), each, each};
  } else {
    const double share = std::min(1.0, static_cast<double>(links.nics) / links.gpus) * ranks_a_node;  // near the ranks
    const int nics = std::max(1, static_cast<int>(share));
    const double path = std::min(rate.pcie, rate.nic);
    const double each = largest_below(rates_to_try(architecture, false), std::min(path, total / nics));
    ring = {nics, each, each};
  }
  ring = split_wide(ring, architecture);
  platform.graphs[NcclAlgorithm::kRing] = platform.graphs[NcclAlgorithm::kTree] = ring;
  platform.channels = std::min(64, 2 * ring.channels);
  // NVLS needs more than two GPUs in a domain (src/transport/nvls.cc, ncclNvlsInit). Each GPU heads one channel. A GPU
  // carries every channel once and its own twice.
  if (architecture >= NcclArchitecture::kHopper && platform.nvlink && nvlink_switch && ranks_a_node > 2) {
    const double each = largest_below(rates_to_try(architecture, true), total / (ranks_a_node + 1));
    const double between = inside ? 2 * each : std::min(rate.pcie, rate.nic);
    platform.graphs[NcclAlgorithm::kNvls] = {ranks_a_node, each, between};
  }
  return platform;
}

}  // namespace foretoken::cost
