// NCCL's own choice of algorithm and protocol, and the time that it expects.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/placement.h"

namespace foretoken::cost {

enum class NcclAlgorithm : std::uint8_t { kTree, kRing, kNvls, kNvlsTree, kPat };
enum class NcclProtocol : std::uint8_t { kLl, kLl128, kSimple };
enum class NcclArchitecture : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };
/// Finds "volta", "ampere", "hopper" or "blackwell", the names of topologies/gpus.
[[nodiscard]] std::optional<NcclArchitecture> nccl_architecture_named(std::string_view name);
[[nodiscard]] std::string_view name_of(NcclAlgorithm algorithm);  ///< as NCCL_ALGO spells it
[[nodiscard]] std::string_view name_of(NcclProtocol protocol);    ///< as NCCL_PROTO spells it

/// The constants of one version of NCCL (src/graph/tuning.cc at its tag). Units are microseconds and GB/s, as there.
struct NcclTuning {
  using ByProtocol = std::array<double, 3>;
  using Rates = std::vector<std::array<double, 3>>;  ///< [architecture, or CPU][1, 2, 3 or more nodes]; empty: no limit
  std::string version;
  std::map<NcclAlgorithm, ByProtocol> base, nvlink_hop, pci_hop, network_hop;
  std::array<std::vector<double>, 3> tree_correction;  ///< [protocol][log2(bytes / 64)]
  Rates ll_max, ring_ll128, tree_ll128, tree, nvls_tree;
  std::array<double, 4> nvlink_per_link{};  ///< rate of a cable that this version plans with, by architecture
  std::array<double, 4> nvlink_reached{};  ///< rate of a cable that the newest version plans with; hardware is the same
  std::optional<double>
      message_channel_rate;  ///< a message between nodes has a channel for each such rate; none: two channels
  std::optional<double> ampere_bus_cap, pat_fraction;
  double ring_ll = 0.5, ring_ll_one_node = 0.5, ring_ll128_fraction = 0.92, ring_ll128_one_gpu_a_node = 0.92;
  double tree_fraction = 0.92, tree_ll128_across_nodes = 0.9375, plain_tree = 1;
  double ll_hop_factor = 1, plateau_before_ampere = 1.9, plateau = 1.4;
  bool ring_extra_network_steps = false, network_overhead_floor = true, plateau_counts_channels = true;
  bool one_gpu_a_node_uses_tree_latency = false, nvls_tree_corrected_on_blackwell = false, nvls_gathers = false;
  char nvls_model = '-';                                 ///< 'A' to 'D', or '-': no NVLS
  std::optional<std::array<double, 2>> nvls_efficiency;  ///< Hopper, Blackwell
};

/// Channels of one algorithm, and the rate of each inside a node and between nodes (GB/s), as NCCL's search finds them.
struct NcclGraph {
  int channels = 0;
  double inside = 0, between = 0;
};

/// A communicator's platform.
struct NcclPlatform {
  NcclArchitecture architecture = NcclArchitecture::kAmpere;
  bool amd_cpu = false;
  bool nvlink = true;
  bool plain_tree = false;                    ///< pattern "tree": one NIC a node serves both directions
  int channels = 0;                           ///< channels at run time
  std::map<NcclAlgorithm, NcclGraph> graphs;  ///< ring, tree and, where the hardware has it, NVLS
};

/// Nominal GB/s of one NVLink per direction, and the part of PCIe's nominal rate that NCCL plans with. This is 24 of 31
/// GB/s in generation 4, and the same part in 3 and 5. Source: datasheets; src/graph/topo.h.
[[nodiscard]] constexpr double nvlink_cable(NcclArchitecture architecture) {
  return architecture == NcclArchitecture::kBlackwell ? 50 : 25;
}
inline constexpr double kNcclPartOfPcie = 24.0 / 31;

/// Returns the result of NCCL's search on nodes of this kind: GPUs joined by NVLink (or with PCIe only), NICs beside
/// them. It finds NVLS only where a `nvlink_switch` joins the GPUs. Rules restated from src/graph/search.cc, topo.h.
/// The CPU is taken for AMD on Ampere (DGX A100), and for another elsewhere.
[[nodiscard]] NcclPlatform nccl_platform(NcclArchitecture architecture, const NodeLinks& links, bool nvlink_switch,
                                         int nodes, int ranks_a_node, const NcclTuning& tuning);

/// One way to run a collective.
struct NcclOption {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double latency_us = 0;
  double bandwidth = 0;  ///< GB/s of NCCL's bytes: per rank for all-reduce and broadcast, total for gather and scatter
};

/// Returns every option of NCCL, in the order of algorithms and protocols.
/// Precondition: kind is no all-to-all; ranks divide evenly over nodes.
[[nodiscard]] std::vector<NcclOption> nccl_options(CollectiveKind kind, int ranks, int nodes,
                                                   const NcclPlatform& platform, const NcclTuning& tuning);

/// The user's settings by NCCL_ALGO, NCCL_PROTO and NCCL_NVLS_ENABLE.
struct NcclSettings {
  std::optional<NcclAlgorithm> algorithm;
  std::optional<NcclProtocol> protocol;
  bool nvls = true;
};

/// The chosen option, and the time that NCCL expects.
struct NcclChoice {
  NcclOption option;
  Seconds time;
};
/// Chooses the option with the least expected time. Precondition: an option fits the settings.
[[nodiscard]] NcclChoice nccl_choice(Bytes payload, CollectiveKind kind, int ranks, int nodes,
                                     const NcclPlatform& platform, const NcclTuning& tuning,
                                     const NcclSettings& settings = {});

}  // namespace foretoken::cost
