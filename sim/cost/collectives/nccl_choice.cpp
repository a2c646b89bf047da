// NCCL's choice: a table of latency and bandwidth for every algorithm and protocol, and the least time in it.
//
// The rules restate NVIDIA/nccl src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) and src/enqueue.cc.
// NcclTuning holds everything that changed between versions.
#include "sim/cost/collectives/nccl_choice.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

constexpr std::array kAlgorithms = {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls,
                                    NcclAlgorithm::kNvlsTree, NcclAlgorithm::kPat};
constexpr std::array kProtocols = {NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple};

std::size_t index(NcclProtocol protocol) { return static_cast<std::size_t>(protocol); }

bool is_nvls(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::kNvls || algorithm == NcclAlgorithm::kNvlsTree;
}

// One collective on one communicator: everything that the formulas share.
class Tuner {
 public:
  Tuner(CollectiveKind kind, int ranks, int nodes, const NcclPlatform& platform, const NcclTuning& tuning)
      : kind_(kind), ranks_(ranks), nodes_(nodes), local_(ranks / nodes), platform_(platform), tuning_(tuning) {}

  [[nodiscard]] bool enabled(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;

 private:
  [[nodiscard]] bool reduces_all() const { return kind_ == CollectiveKind::kAllReduce; }
  [[nodiscard]] bool gathers() const {
    return kind_ == CollectiveKind::kAllGather || kind_ == CollectiveKind::kReduceScatter;
  }
  [[nodiscard]] double steps() const {
    return reduces_all() ? 2.0 * (ranks_ - 1) : gathers() ? ranks_ - 1.0 : static_cast<double>(ranks_);
  }
  [[nodiscard]] const NcclGraph* graph(NcclAlgorithm algorithm) const {
    const NcclAlgorithm searched = is_nvls(algorithm)                 ? NcclAlgorithm::kNvls
                                   : algorithm == NcclAlgorithm::kPat ? NcclAlgorithm::kRing
                                                                      : algorithm;
    const auto found = platform_.graphs.find(searched);
    return found == platform_.graphs.end() ? nullptr : &found->second;
  }
  [[nodiscard]] double limit(const NcclTuning::Rates& rates, std::size_t row) const {
    if (rates.empty()) return std::numeric_limits<double>::infinity();
    return rates[std::min(row, rates.size() - 1)][nodes_ == 1 ? 0 : nodes_ == 2 ? 1 : 2];
  }
  [[nodiscard]] std::size_t architecture() const { return static_cast<std::size_t>(platform_.architecture); }
  [[nodiscard]] double ll_limit() const {
    return limit(tuning_.ll_max, nodes_ == 1 ? architecture() : platform_.amd_cpu ? 1 : 0);
  }
  [[nodiscard]] double ring_bus(NcclProtocol protocol, double bus, int channels) const;
  [[nodiscard]] double tree_bus(NcclProtocol protocol, double bus, int channels) const;
  [[nodiscard]] double nvls_bandwidth(NcclAlgorithm algorithm, const NcclGraph& graph) const;
  [[nodiscard]] double ring_latency(NcclProtocol protocol) const;

  CollectiveKind kind_;
  int ranks_, nodes_, local_;
  const NcclPlatform& platform_;
  const NcclTuning& tuning_;
};

bool Tuner::enabled(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  if (!tuning_.base.contains(algorithm) || graph(algorithm) == nullptr) return false;
  if (protocol == NcclProtocol::kLl128 && !platform_.nvlink) return false;
  const bool simple_only = is_nvls(algorithm) || algorithm == NcclAlgorithm::kPat;
  if (simple_only && protocol != NcclProtocol::kSimple) return false;
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return true;
    case NcclAlgorithm::kTree:
      return reduces_all();
    case NcclAlgorithm::kNvls:
      return tuning_.nvls_model != '-' && nodes_ == 1 && (reduces_all() || (gathers() && tuning_.nvls_gathers));
    case NcclAlgorithm::kNvlsTree:
      return tuning_.nvls_model != '-' && nodes_ > 1 && reduces_all();
    case NcclAlgorithm::kPat:
      return tuning_.pat_fraction && gathers() && local_ == 1 && nodes_ > 1;
  }
  return false;
}

double Tuner::ring_bus(NcclProtocol protocol, double bus, int channels) const {
  if (protocol == NcclProtocol::kLl)
    return std::min(ll_limit(), bus * (nodes_ == 1 && !reduces_all() ? tuning_.ring_ll_one_node : tuning_.ring_ll));
  if (protocol == NcclProtocol::kLl128)
    return std::min(bus * (local_ == 1 ? tuning_.ring_ll128_one_gpu_a_node : tuning_.ring_ll128_fraction),
                    channels * limit(tuning_.ring_ll128, architecture()));
  return bus;
}

double Tuner::tree_bus(NcclProtocol protocol, double bus, int channels) const {
  bus = std::min(bus * tuning_.tree_fraction, channels * limit(tuning_.tree, architecture()));
  if (protocol == NcclProtocol::kLl) bus = std::min(bus / 3.8, ll_limit());
  if (protocol == NcclProtocol::kLl128)
    bus = std::min(bus * (nodes_ == 1 ? 7.0 / 9.0 : tuning_.tree_ll128_across_nodes),
                   channels * limit(tuning_.tree_ll128, architecture()));
  return platform_.plain_tree ? bus * tuning_.plain_tree : bus;
}

double Tuner::nvls_bandwidth(NcclAlgorithm algorithm, const NcclGraph& graph) const {
  const bool tree = algorithm == NcclAlgorithm::kNvlsTree;
  const double channels = graph.channels;
  switch (tuning_.nvls_model) {
    case 'A': {
      const double bus = channels * (nodes_ <= 2 ? graph.inside : graph.between);
      return tree ? 0.7 * nodes_ / (2.0 * (nodes_ - 1)) * bus : 5.0 / 6.0 * bus;
    }
    case 'C':
      if (!reduces_all()) return channels * std::min(graph.inside * (local_ - 1) / local_, 0.9 * graph.between);
      [[fallthrough]];
    case 'B':
      return 5.0 / 6.0 * channels * std::min(graph.inside, graph.between / (tree && nodes_ > 2 ? 2 : 1));
    default: {
      expects(tuning_.nvls_efficiency.has_value(), "NVLS model D has an efficiency");
      const double efficiency = (*tuning_.nvls_efficiency)[platform_.architecture == NcclArchitecture::kHopper ? 0 : 1];
      const double inside =
          graph.inside * efficiency * (channels - 1) / channels * (reduces_all() ? 2.0 : (local_ - 1.0) / local_);
      double rate = std::min(inside, graph.between * (tree && nodes_ <= 2 ? 2 : 1));
      if (tree) rate = std::min(rate, limit(tuning_.nvls_tree, architecture()));
      return channels * rate * (reduces_all() ? ranks_ / steps() : 1);
    }
  }
}

double Tuner::bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const NcclGraph& found = *graph(algorithm);
  if (is_nvls(algorithm)) return nvls_bandwidth(algorithm, found);
  double bus = found.channels * (nodes_ <= 2 ? found.inside : found.between);
  if (tuning_.ampere_bus_cap && platform_.architecture != NcclArchitecture::kVolta)
    bus = std::min(bus, *tuning_.ampere_bus_cap);
  if (algorithm == NcclAlgorithm::kTree) return 0.5 * tree_bus(protocol, bus, found.channels);
  if (algorithm == NcclAlgorithm::kPat) return *tuning_.pat_fraction * bus * ranks_ / steps();
  return ring_bus(protocol, bus, found.channels) * ranks_ / steps();
}

double Tuner::ring_latency(NcclProtocol protocol) const {
  constexpr auto kRing = NcclAlgorithm::kRing;
  const std::size_t p = index(protocol);
  double hop = (platform_.nvlink ? tuning_.nvlink_hop : tuning_.pci_hop).at(kRing)[p];
  double network = tuning_.network_hop.at(kRing)[p];
  const double base = tuning_.base.at(kRing)[p];
  if (nodes_ > 1) {
    if (local_ == 1 && tuning_.one_gpu_a_node_uses_tree_latency)
      network = tuning_.network_hop.at(NcclAlgorithm::kTree)[p];
    // The proxy's share of a hop: 1 us (Intel and others) or 2 (AMD), three times that with Simple.
    if (tuning_.network_overhead_floor)
      hop = std::max(hop, (platform_.amd_cpu ? 2.0 : 1.0) * (protocol == NcclProtocol::kSimple ? 3 : 1));
    if (protocol == NcclProtocol::kLl) hop *= tuning_.ll_hop_factor;
  }
  if (!reduces_all() && !gathers()) return base + (nodes_ == 1 ? hop : network);
  double crossings = 0;
  if (nodes_ > 1) crossings = gathers() ? nodes_ - 1 : 2.0 * (tuning_.ring_extra_network_steps ? nodes_ : nodes_ - 1);
  return base + (steps() - crossings) * hop + crossings * network;
}

double Tuner::latency(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  if (algorithm == NcclAlgorithm::kRing) return ring_latency(protocol);
  const std::size_t p = index(protocol);
  const double doublings = std::floor(std::log2(static_cast<double>(nodes_)));
  double hop = (platform_.nvlink ? tuning_.nvlink_hop : tuning_.pci_hop).at(algorithm)[p];
  const double network = tuning_.network_hop.at(algorithm)[p], base = tuning_.base.at(algorithm)[p];
  switch (algorithm) {
    case NcclAlgorithm::kTree:
      if (nodes_ > 1 && protocol == NcclProtocol::kLl) hop *= tuning_.ll_hop_factor;
      return base + 2 * ((local_ - 1) * hop + doublings * network);
    case NcclAlgorithm::kNvls:
      return tuning_.nvls_model == 'A' ? 23 : hop;
    case NcclAlgorithm::kNvlsTree:
      return tuning_.nvls_model == 'A' ? 23 + 2.0 * (nodes_ - 1) * 19 : hop + 2 * doublings * network;
    default:
      return base + doublings * network / 3.5 + 2.8 * ranks_;
  }
}

// Returns the time of an option for a message of `bytes`.
double time_us(const NcclOption& option, double bytes, CollectiveKind kind, int ranks, int nodes,
               const NcclPlatform& platform, const NcclTuning& tuning) {
  double bandwidth = option.bandwidth, latency = option.latency_us;
  const bool corrected = option.algorithm == NcclAlgorithm::kTree ||
                         (option.algorithm == NcclAlgorithm::kNvlsTree && tuning.nvls_tree_corrected_on_blackwell &&
                          platform.architecture == NcclArchitecture::kBlackwell);
  if (corrected && bytes >= 64) {
    const std::vector<double>& factors = tuning.tree_correction[index(option.protocol)];
    const auto octave = static_cast<std::size_t>(std::log2(std::floor(bytes / 64)));
    if (octave < factors.size()) bandwidth *= factors[octave];
  }
  if (option.algorithm == NcclAlgorithm::kRing && option.protocol == NcclProtocol::kSimple && nodes > 1 &&
      kind == CollectiveKind::kAllReduce) {
    const bool plateau = tuning.plateau_counts_channels
                             ? std::floor(bytes / (static_cast<double>(platform.channels) * ranks)) >= 64
                             : bytes >= ranks * 4096.0;
    if (plateau)
      latency *= platform.architecture == NcclArchitecture::kVolta ? tuning.plateau_before_ampere : tuning.plateau;
  }
  return latency + bytes / (1000 * bandwidth);
}

}  // namespace

std::optional<NcclArchitecture> nccl_architecture_named(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames = {"volta", "ampere", "hopper", "blackwell"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NcclArchitecture>(found - kNames.begin());
}

std::string_view name_of(NcclAlgorithm algorithm) {
  constexpr std::array<std::string_view, 5> kNames = {"Tree", "Ring", "NVLS", "NVLSTree", "PAT"};
  return kNames[static_cast<std::size_t>(algorithm)];
}

std::string_view name_of(NcclProtocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames[index(protocol)];
}

std::vector<NcclOption> nccl_options(CollectiveKind kind, int ranks, int nodes, const NcclPlatform& platform,
                                     const NcclTuning& tuning) {
  expects(kind != CollectiveKind::kAllToAll, "NCCL sends an all-to-all message by message");
  expects(nodes >= 1 && ranks >= 2 && ranks % nodes == 0, "ranks divide evenly over nodes");
  const Tuner tuner(kind, ranks, nodes, platform, tuning);
  std::vector<NcclOption> options;
  for (const NcclAlgorithm algorithm : kAlgorithms)
    for (const NcclProtocol protocol : kProtocols)
      if (tuner.enabled(algorithm, protocol))
        options.push_back(
            {algorithm, protocol, tuner.latency(algorithm, protocol), tuner.bandwidth(algorithm, protocol)});
  return options;
}

NcclChoice nccl_choice(Bytes payload, CollectiveKind kind, int ranks, int nodes, const NcclPlatform& platform,
                       const NcclTuning& tuning, const NcclSettings& settings) {
  std::vector<NcclOption> options = nccl_options(kind, ranks, nodes, platform, tuning);
  std::erase_if(options, [&](const NcclOption& option) {
    return (settings.algorithm && option.algorithm != *settings.algorithm) ||
           (settings.protocol && option.protocol != *settings.protocol) ||
           (!settings.nvls && is_nvls(option.algorithm));
  });
  expects(!options.empty(), "NCCL always has a ring, and settings leave an option");
  NcclChoice best{options.front(), Seconds(std::numeric_limits<double>::infinity())};
  for (const NcclOption& option : options) {
    const Seconds time = microseconds(time_us(option, payload.value(), kind, ranks, nodes, platform, tuning));
    if (time < best.time) best = {option, time};
  }
  return best;
}

}  // namespace foretoken::cost
