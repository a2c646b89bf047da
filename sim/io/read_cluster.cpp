// From datasheet numbers to links: a node with its own NVLink, or a rack of nodes that share one.
#include "sim/io/read_cluster.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "sim/io/document.h"
#include "sim/io/text.h"

namespace foretoken::io {
namespace {

constexpr WholeRange kGpusPerDomain{.low = 1, .high = 65536};
constexpr WholeRange kNicsPerNode{.low = 0, .high = 1024};

// Rates of today's hardware with room above and below; anything else is a wrong unit.
constexpr Range kGigabytesPerSecond{.low = 1e-3, .high = 1e6};
constexpr Range kTeraflops{.low = 0, .high = 1e6, .above_low = true};

void read_peaks(const Node& node, net::Gpu& gpu) {
  const Node peaks = node.object("peak_tflops");
  peaks.allow_only({"fp32", "fp16", "bf16", "fp8"});
  for (const auto& [precision, name] : kPrecisionNames)
    if (const auto rate = peaks.find_number(name, kTeraflops)) gpu.peak[precision] = teraflops(*rate);
  if (gpu.peak.empty())
    peaks.complain("expected at least one of fp16, bf16, fp8, fp32: dense TFLOP/s, without sparsity");
}

/// NVLink of a node or of a rack; sets the size of the domain.
void read_nvlink(const Node& node, net::Cluster& cluster) {
  cluster.nvlink_fabric = "none";
  cluster.links.gpus = cluster.gpus_per_node;
  const std::optional<Node> nvlink = node.find_object("nvlink");
  if (!nvlink) return;
  nvlink->allow_only({"fabric", "gb_per_s_per_gpu", "domain_gpus"});
  cluster.nvlink_fabric = nvlink->one_of<std::string>(
      "fabric", {{"nvswitch", "nvswitch"}, {"hybrid-cube-mesh", "hybrid-cube-mesh"}, {"bridge", "bridge"}});
  cluster.links.nvlink_per_gpu = gigabytes_per_second(nvlink->number("gb_per_s_per_gpu", kGigabytesPerSecond));
  const auto domain = nvlink->whole_or("domain_gpus", cluster.gpus_per_node, kGpusPerDomain);
  if (domain % cluster.gpus_per_node != 0)
    nvlink->complain("domain_gpus",
                     fmt::format("expected a multiple of the node's {} GPUs, found {}", cluster.gpus_per_node, domain));
  cluster.links.gpus = static_cast<int>(domain);
}

void read_node(const Node& node, net::Cluster& cluster) {
  node.allow_only({"gpus", "nvlink", "pcie_gb_per_s", "nics"});
  cluster.gpus_per_node = static_cast<int>(node.whole("gpus", kGpusPerDomain));
  read_nvlink(node, cluster);
  cluster.links.pcie_per_gpu = gigabytes_per_second(node.number("pcie_gb_per_s", kGigabytesPerSecond));
  const Node nics = node.object("nics");
  nics.allow_only({"count", "gb_per_s"});
  const int nodes_per_domain = std::max(1, cluster.links.gpus / cluster.gpus_per_node);
  cluster.links.nics = static_cast<int>(nics.whole("count", kNicsPerNode)) * nodes_per_domain;
  cluster.links.nic = gigabytes_per_second(nics.number("gb_per_s", kGigabytesPerSecond));
}

void read_fabric(const Node& fabric, net::Cluster& cluster) {
  fabric.allow_only({"kind", "rail_optimized", "oversubscription", "hop_latency_us", "switch_radix", "routing"});
  cluster.fabric_kind = fabric.one_of<std::string>(
      "kind", {{"fat-tree", "fat-tree"}, {"single-switch", "single-switch"}, {"dragonfly", "dragonfly"}});
  cluster.rail_optimized = fabric.boolean_or("rail_optimized", false);
  // Ports of today's switches: 40 of HDR (NVIDIA Quantum QM8700), 64 of NDR (Quantum-2 QM9700).
  const int radix = cluster.links.nic <= gigabytes_per_second(25) ? 40 : 64;
  cluster.switch_radix = static_cast<int>(fabric.find_whole("switch_radix", {.low = 4, .high = 4096}).value_or(radix));
  if (fabric.has("routing"))
    cluster.adaptive_routing = fabric.one_of<bool>("routing", {{"adaptive", true}, {"ecmp", false}});
  cluster.links.oversubscription = fabric.number_or("oversubscription", 1, {.low = 1, .high = 1000});
  cluster.links.hop_latency = microseconds(fabric.number("hop_latency_us", {.low = 0, .high = 1e6}));
}

}  // namespace

net::Gpu read_gpu(const Node& node) {
  node.allow_only({"name", "architecture", "peak_tflops", "sms", "memory_bytes", "memory_bandwidth_gb_per_s",
                   "tdp_watts", "source", "notes"});
  net::Gpu gpu;
  gpu.name = node.text("name");
  gpu.architecture = node.text("architecture");
  read_peaks(node, gpu);
  gpu.streaming_multiprocessors = static_cast<int>(node.whole("sms", {.low = 1, .high = 100'000}));
  gpu.memory = Bytes(static_cast<double>(node.whole("memory_bytes", {.low = std::int64_t{1} << 20})));
  gpu.memory_bandwidth = gigabytes_per_second(node.number("memory_bandwidth_gb_per_s", kGigabytesPerSecond));
  gpu.tdp_watts = node.find_number("tdp_watts", kPositive);
  gpu.source = node.find_text("source").value_or("");
  return gpu;
}

net::Cluster read_cluster(const Node& node) {
  node.allow_only({"name", "gpu", "node", "fabric", "measured_collectives", "price_per_gpu_hour", "source", "notes"});
  net::Cluster cluster;
  cluster.name = node.text_or("name", "unnamed cluster");
  if (const auto gpu = open_reference(node.child("gpu"), kGpus)) cluster.gpu = read_gpu(gpu->root(node.findings()));
  read_node(node.object("node"), cluster);
  read_fabric(node.object("fabric"), cluster);
  cluster.price_per_gpu_hour = node.find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  cluster.source = node.find_text("source").value_or("");
  return cluster;
}

}  // namespace foretoken::io
