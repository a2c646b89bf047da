// Turns datasheet numbers into links: of a node with its own NVLink, or of a rack whose nodes share one.
#include "sim/io/hardware/read_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/io/hardware/read_host.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

constexpr WholeRange kGpusPerDomain{.low = 1, .high = 65536};
constexpr WholeRange kNicsPerNode{.low = 0, .high = 1024};

// Rates of today's hardware with room above and below. Any other number has a wrong unit.
constexpr Range kGigabytesPerSecond{.low = 1e-3, .high = 1e6};
constexpr Range kTeraflops{.low = 1e-3, .high = 1e6};

void read_peaks(const Node& node, net::Gpu& gpu) {
  const Node peaks = node.object("peak_tflops");
  peaks.allow_only({"fp32", "tf32", "fp16", "bf16", "fp8", "fp8_block", "nvfp4", "int8"});
  for (const auto& [precision, name] : kPrecisionNames)
    if (const auto rate = peaks.find_number(name, kTeraflops)) gpu.peak[precision] = teraflops(*rate);
  if (gpu.peak.empty())
    peaks.complain("expected at least one of fp16, bf16, fp8, fp32: dense TFLOP/s, without sparsity");
}

/// Reads cables: [3, 5, 2] joins GPUs 3 and 5 by two cables.
std::vector<net::NvlinkCables> read_cables(const Node& nvlink, int gpus) {
  std::vector<net::NvlinkCables> all;
  std::set<std::pair<int, int>> pairs;
  for (const Node& entry : nvlink.find_array("cables").value_or(std::vector<Node>())) {
    const std::vector<Node> numbers = entry.as_array();
    if (numbers.size() != 3) {
      entry.expected("[GPU, GPU, number of cables]");
      continue;
    }
    const WholeRange gpu{.low = 0, .high = gpus - 1};
    const int a = static_cast<int>(numbers[0].as_whole(gpu)), b = static_cast<int>(numbers[1].as_whole(gpu));
    if (a == b || !pairs.insert(std::minmax(a, b)).second)
      entry.complain(fmt::format("expected every pair of two GPUs once, found GPUs {} and {}", a, b));
    all.push_back({a, b, static_cast<int>(numbers[2].as_whole({.low = 1, .high = 1024}))});
  }
  return all;
}

/// Returns the part of a rack's domain that a job of several racks takes. By default it is the largest power of two, as
/// degrees are: 64 of 72.
std::optional<net::Segment> read_segment(const Node& nvlink, const net::Cluster& cluster) {
  const int domain = cluster.links.gpus, node = cluster.gpus_per_node;
  const auto largest = static_cast<int>(std::bit_floor(static_cast<unsigned>(domain)));
  const bool joins_nodes = domain > node && largest % node == 0;
  const std::size_t wrong = nvlink.findings().complaints.size();
  const auto gpus =
      static_cast<int>(nvlink.find_whole("segment_gpus", kGpusPerDomain).value_or(joins_nodes ? largest : domain));
  if (nvlink.findings().complaints.size() == wrong && gpus % node != 0)
    nvlink.complain("segment_gpus", fmt::format("expected a multiple of the node's {} GPUs, found {}", node, gpus));
  return gpus < domain ? std::optional(net::Segment{.gpus = gpus, .of = domain}) : std::nullopt;
}

/// Reads the NVLink of a node or of a rack, and sets the size of its domain.
void read_nvlink(const Node& node, net::Cluster& cluster) {
  cluster.nvlink_fabric = "none";
  cluster.links.gpus = cluster.gpus_per_node;
  const std::optional<Node> nvlink = node.find_object("nvlink");
  if (!nvlink) return;
  nvlink->allow_only({"fabric", "gb_per_s_per_gpu", "domain_gpus", "segment_gpus", "cables"});
  cluster.nvlink_fabric = nvlink->one_of<std::string>(
      "fabric",
      {{"nvswitch", "nvswitch"}, {"hybrid-cube-mesh", "hybrid-cube-mesh"}, {"bridge", "bridge"}, {"mesh", "mesh"}});
  cluster.wiring.cables = read_cables(*nvlink, cluster.gpus_per_node);
  const bool stated = !cluster.wiring.cables.empty();
  if (stated && cluster.nvlink_fabric == "nvswitch")
    nvlink->complain("cables", "expected none: an NVLink switch joins all GPUs");
  if (!stated && cluster.nvlink_fabric == "mesh")
    nvlink->complain("cables", "missing; expected [GPU, GPU, number of cables] of every pair in the mesh");
  cluster.links.nvlink_per_gpu = gigabytes_per_second(nvlink->number("gb_per_s_per_gpu", kGigabytesPerSecond));
  const std::size_t wrong = nvlink->findings().complaints.size();
  const auto domain = nvlink->whole_or("domain_gpus", cluster.gpus_per_node, kGpusPerDomain);
  if (nvlink->findings().complaints.size() > wrong) return;
  if (domain % cluster.gpus_per_node != 0)
    nvlink->complain("domain_gpus",
                     fmt::format("expected a multiple of the node's {} GPUs, found {}", cluster.gpus_per_node, domain));
  else if (domain != cluster.gpus_per_node && cluster.nvlink_fabric != "nvswitch")
    nvlink->complain("domain_gpus",
                     fmt::format("expected the node's {}: only an NVLink switch joins several nodes, found {}",
                                 with_noun(cluster.gpus_per_node, "GPU"), domain));
  cluster.links.gpus = static_cast<int>(domain);
  cluster.segment = read_segment(*nvlink, cluster);
  if (!stated && cluster.nvlink_fabric == "hybrid-cube-mesh" && cluster.gpus_per_node != 8)
    nvlink->complain(
        "fabric", fmt::format("a hybrid cube mesh joins 8 GPUs, this one {}; state its cables", cluster.gpus_per_node));
}

// NCCL uses neither NVLink nor PCIe between GPUs that may not reach each other's memory (NCCL_P2P_DISABLE=1, or a
// driver that forbids it). It then copies through memory of the host that both share (src/transport/shm.cc): each GPU
// sends and receives over its own PCIe link. So the node is one whose GPUs talk over PCIe.
void read_peer_to_peer(const Node& node, net::Cluster& cluster) {
  cluster.peer_to_peer = node.boolean_or("p2p", true);
  if (cluster.peer_to_peer) return;
  cluster.nvlink_fabric = "none";
  cluster.wiring.cables.clear();
  cluster.links.nvlink_per_gpu = BytesPerSecond(0);
  cluster.links.gpus = cluster.gpus_per_node;
  cluster.segment.reset();
}

constexpr int kDeepestPcie = 8;  // switches below switches

/// The GPUs and NICs that the tree already holds, by number.
struct Plugged {
  std::vector<bool> gpus, nics;
};

std::vector<int> read_devices(const Node& node, std::string_view key, std::vector<bool>& plugged) {
  std::vector<int> devices;
  for (const Node& entry : node.find_array(key).value_or(std::vector<Node>())) {
    if (plugged.empty()) {
      entry.complain(fmt::format("expected none: the node has no {}", key));
      continue;
    }
    const auto device =
        static_cast<std::size_t>(entry.as_whole({.low = 0, .high = static_cast<std::int64_t>(plugged.size()) - 1}));
    if (plugged[device]) entry.complain(fmt::format("expected every number once, found {} again", device));
    plugged[device] = true;
    devices.push_back(static_cast<int>(device));
  }
  return devices;
}

net::PcieTree read_pcie_tree(const Node& node, Plugged& plugged, int depth) {
  node.allow_only({"gpus", "nics", "switches"});
  net::PcieTree tree{read_devices(node, "gpus", plugged.gpus), read_devices(node, "nics", plugged.nics), {}};
  const auto switches = node.find_array("switches");
  if (switches && depth == kDeepestPcie)
    node.complain("switches", fmt::format("expected at most {} levels of switches", kDeepestPcie));
  else if (switches)
    for (const Node& below : *switches) tree.switches.push_back(read_pcie_tree(below.as_object(), plugged, depth + 1));
  return tree;
}

/// Reads the sockets of a host, each with its devices and the PCIe switches below it.
void read_sockets(const Node& node, int nics, net::Cluster& cluster) {
  const auto sockets = node.find_array("sockets");
  if (!sockets) return;
  Plugged plugged{std::vector<bool>(static_cast<std::size_t>(cluster.gpus_per_node), false),
                  std::vector<bool>(static_cast<std::size_t>(nics), false)};
  for (const Node& socket : *sockets) cluster.wiring.sockets.push_back(read_pcie_tree(socket.as_object(), plugged, 0));
  const auto complete = [&](const std::vector<bool>& found, std::string_view what) {
    const auto missing = std::find(found.begin(), found.end(), false);
    if (missing != found.end())
      node.complain("sockets", fmt::format("expected every {} of the node once, {} {} is missing", what, what,
                                           missing - found.begin()));
  };
  complete(plugged.gpus, "GPU");
  complete(plugged.nics, "NIC");
}

void read_power_limit(const Node& node, net::Cluster& cluster) {
  const auto& board = cluster.gpu.tdp_watts;
  cluster.power_limit_watts = node.find_number("power_limit_watts", {.low = 1, .high = 1e6});
  if (!cluster.power_limit_watts) return;
  if (board == cluster.power_limit_watts) cluster.power_limit_watts.reset();
  if (board && cluster.power_limit_watts.value_or(0) <= *board) return;
  node.complain(
      "power_limit_watts",
      board ? fmt::format("expected at most {:g}, the board limit of GPU {}, found {:g}", *board,
                          in_quotes(cluster.gpu.name), *cluster.power_limit_watts)
            : fmt::format("expected none: GPU {} states no tdp_watts to compare with", in_quotes(cluster.gpu.name)));
}

void read_node(const Node& node, net::Cluster& cluster) {
  node.allow_only({"gpus", "nvlink", "p2p", "pcie_gb_per_s", "nics", "sockets", "power_limit_watts", "host"});
  const std::size_t wrong = node.findings().complaints.size();
  cluster.gpus_per_node = cluster.links.gpus = static_cast<int>(node.whole("gpus", kGpusPerDomain));
  if (node.findings().complaints.size() > wrong) return;  // cables, sockets and links of the host name GPUs by number
  read_nvlink(node, cluster);
  read_peer_to_peer(node, cluster);
  cluster.links.pcie_per_gpu = gigabytes_per_second(node.number("pcie_gb_per_s", kGigabytesPerSecond));
  int nics_per_node = 0;
  if (const auto nics = node.find_object("nics")) {
    nics->allow_only({"count", "gb_per_s"});
    nics_per_node = static_cast<int>(nics->whole("count", kNicsPerNode));
    cluster.links.nic = gigabytes_per_second(nics->number("gb_per_s", kGigabytesPerSecond));
  }
  cluster.links.nics = nics_per_node * std::max(1, cluster.links.gpus / cluster.gpus_per_node);
  read_sockets(node, nics_per_node, cluster);
  read_power_limit(node, cluster);
  cluster.host = read_host(node, cluster.gpus_per_node);
}

void read_fabric(const Node& fabric, net::Cluster& cluster) {
  fabric.allow_only({"kind", "rail_optimized", "oversubscription", "hop_latency_us", "switch_radix", "routing"});
  cluster.fabric_kind = fabric.one_of<std::string>(
      "kind", {{"fat-tree", "fat-tree"}, {"single-switch", "single-switch"}, {"dragonfly", "dragonfly"}});
  cluster.rail_optimized = fabric.boolean_or("rail_optimized", false);
  // Today's switches have 40 ports of HDR (NVIDIA Quantum QM8700) or 64 ports of NDR (Quantum-2 QM9700).
  const int radix = cluster.links.nic <= gigabytes_per_second(25) ? 40 : 64;
  cluster.switch_radix = static_cast<int>(fabric.find_whole("switch_radix", {.low = 4, .high = 4096}).value_or(radix));
  if (fabric.has("routing"))
    cluster.adaptive_routing = fabric.one_of<bool>("routing", {{"adaptive", true}, {"ecmp", false}});
  cluster.links.oversubscription = fabric.number_or("oversubscription", 1, {.low = 1, .high = 1000});
  cluster.links.hop_latency = microseconds(fabric.number("hop_latency_us", {.low = 0, .high = 1e6}));
}

/// Warns of a node whose links a GPU cannot drive, as when another GPU stands in a cluster's nodes.
void warn_of_nvlink(const Node& node, const net::Cluster& cluster) {
  if (!cluster.gpu.nvlink || cluster.nvlink_fabric == "none") return;
  constexpr double kRounding = 1.001;
  const BytesPerSecond own = real(cluster.gpu.nvlink->count) * cluster.gpu.nvlink->each;
  if (cluster.links.nvlink_per_gpu <= kRounding * own) return;
  node.findings().notes.warnings.push_back(fmt::format(
      "The cluster's NVLink has {:g} GB/s a GPU, but {} has {:g}: state cluster.node.nvlink.gb_per_s_per_gpu.",
      cluster.links.nvlink_per_gpu.value() / 1e9, cluster.gpu.name, own.value() / 1e9));
}

}  // namespace

net::Gpu read_gpu(const Node& node) {
  node.allow_only({"name", "architecture", "peak_tflops", "sms", "memory_bytes", "memory_bandwidth_gb_per_s",
                   "tdp_watts", "nvlink", "pcie_gb_per_s", "form_factor", "source", "notes"});
  net::Gpu gpu;
  gpu.name = node.text("name");
  gpu.architecture = node.text("architecture");
  read_peaks(node, gpu);
  gpu.streaming_multiprocessors = static_cast<int>(node.whole("sms", {.low = 1, .high = 100'000}));
  gpu.memory = Bytes(static_cast<double>(node.whole("memory_bytes", {.low = std::int64_t{1} << 20})));
  gpu.memory_bandwidth = gigabytes_per_second(node.number("memory_bandwidth_gb_per_s", kGigabytesPerSecond));
  gpu.tdp_watts = node.find_number("tdp_watts", {.low = 1, .high = 1e6});
  if (const auto nvlink = node.find_object("nvlink")) {
    nvlink->allow_only({"links", "gb_per_s_per_link"});
    gpu.nvlink = {.count = static_cast<int>(nvlink->whole("links", {.low = 1, .high = 1024})),
                  .each = gigabytes_per_second(nvlink->number("gb_per_s_per_link", kGigabytesPerSecond))};
  }
  if (const auto pcie = node.find_number("pcie_gb_per_s", kGigabytesPerSecond)) gpu.pcie = gigabytes_per_second(*pcie);
  if (node.has("form_factor"))  // sim/io/json/gpu_server.h uses it
    static_cast<void>(node.one_of<bool>("form_factor", {{"card", true}, {"module", false}}));
  gpu.source = node.find_text("source").value_or("");
  return gpu;
}

void check_fabric(const Node& fabric) {
  net::Cluster any;
  read_fabric(fabric, any);
}

net::Cluster read_cluster(const Node& node) {
  if (node.has("groups")) {
    node.complain("groups", "expected one kind of node, found groups of them; name one of their clusters");
    return {};
  }
  node.allow_only({"name", "gpu", "node", "fabric", "measured_collectives", "price_per_gpu_hour", "source", "notes"});
  net::Cluster cluster;
  cluster.name = node.text_or("name", "unnamed cluster");
  if (const auto gpu = open_reference(node.child("gpu"), kGpus)) cluster.gpu = read_gpu(gpu->root(node.findings()));
  read_node(node.object("node"), cluster);
  warn_of_nvlink(node, cluster);
  if (cluster.links.nics > 0 || node.has("fabric"))
    read_fabric(node.object("fabric"), cluster);
  else
    cluster.fabric_kind = "none";
  cluster.price_per_gpu_hour = node.find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  cluster.source = node.find_text("source").value_or("");
  return cluster;
}

}  // namespace foretoken::io
