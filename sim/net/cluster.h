// A cluster: its GPU, its node and the fabric between nodes, as a datasheet states them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/base/kernel.h"
#include "sim/base/placement.h"
#include "sim/net/node_wiring.h"

namespace foretoken::net {

/// NVLink ports of a GPU.
struct NvlinkPorts {
  int count = 0;
  BytesPerSecond each;  ///< per direction
};

/// A GPU by its datasheet (topologies/gpus/NAME.json). Rates are dense, without sparsity.
struct Gpu {
  std::string name;
  std::string architecture;                 ///< "volta", "ampere", "hopper", "blackwell"
  std::map<Precision, FlopPerSecond> peak;  ///< dense matrix rates
  int streaming_multiprocessors = 0;
  Bytes memory;  ///< as the driver reports it, not the marketing figure
  BytesPerSecond memory_bandwidth;
  std::optional<double> tdp_watts;
  std::optional<NvlinkPorts> nvlink;   ///< absent: the GPU has none, or it is not stated
  std::optional<BytesPerSecond> pcie;  ///< the widest slot it can use; absent: not stated
  std::string source;

  /// Dense peak of `precision`, if the GPU has it.
  [[nodiscard]] std::optional<FlopPerSecond> peak_of(Precision precision) const {
    const auto found = peak.find(precision);
    return found == peak.end() ? std::nullopt : std::optional(found->second);
  }
};

/// The local disks of a host together.
struct Disks {
  Bytes capacity;
  BytesPerSecond read, write;
};

/// A host: its memory, the links to its GPUs, and its disks.
struct Host {
  Bytes memory;
  BytesPerSecond memory_bandwidth;  ///< of all sockets
  int gpus_per_link = 1;            ///< GPUs behind one link to the host, as wide as a GPU's own
  std::optional<Disks> disks;
};

/// The part of every NVLink domain that a job of several domains takes, as Slurm's --segment gives it.
struct Segment {
  int gpus = 0, of = 0;  ///< GPUs of a segment, and of a whole domain
};

/// A kind of cluster (topologies/NAME.json). The scenario states how many GPUs a job takes.
struct Cluster {
  std::string name;
  Gpu gpu;
  int gpus_per_node = 8;      ///< GPUs of one host
  std::string nvlink_fabric;  ///< "nvswitch", "hybrid-cube-mesh", "bridge", "mesh" or "none"
  bool peer_to_peer = true;   ///< GPUs of a node reach each other's memory; else NCCL copies through the host's memory
  NodeLinks links;            ///< per NVLink domain: an NVL72 rack counts as one node of 72 GPUs
  std::optional<Segment> segment;  ///< absent: jobs fill domains
  NodeWiring wiring;               ///< wiring of one host, where it is stated
  std::optional<Host> host;        ///< absent: not stated
  std::string fabric_kind;         ///< "fat-tree", "single-switch", "dragonfly"; "none" without NICs
  bool rail_optimized = false;
  int switch_radix = 64;         ///< ports of one network switch, at the rate of a NIC
  bool adaptive_routing = true;  ///< packets spread over equal paths; otherwise ECMP puts each flow on one path
  std::optional<double> power_limit_watts;  ///< of a GPU, lower than the board's; absent: the board's
  std::optional<double> price_per_gpu_hour;
  std::string source;
};

/// Counts the GPUs of each NVLink domain that a job of `gpus` GPUs takes. A job of several domains takes segments that
/// make up its GPUs. It takes whole domains instead where they make them up, too, and groups of `group` ranks divide
/// them: tensor- and expert-parallel ranks exchange most.
[[nodiscard]] int domain_of_job(const Cluster& cluster, int gpus, std::int64_t group);

/// Returns the cluster with domains of domain_of_job() GPUs, and the NICs beside these.
[[nodiscard]] Cluster as_placed(Cluster cluster, int gpus, std::int64_t group);

/// Returns true when a whole domain or a segment holds groups of `ranks` without a rest.
[[nodiscard]] bool domains_hold(const Cluster& cluster, std::int64_t ranks);

/// Returns the cluster with whole domains.
[[nodiscard]] Cluster in_whole_domains(Cluster cluster);

}  // namespace foretoken::net
