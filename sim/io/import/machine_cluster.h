// Makes a cluster file from a machine as found; the user states what the source does not hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/machine.h"
#include "sim/net/cluster.h"

namespace foretoken::io {

/// Facts that only the user knows.
struct MachineChoices {
  std::string name;                              ///< of the cluster
  std::string gpu;                               ///< name or path of the GPU's file, as the cluster's will name it
  const nlohmann::json* fabric = nullptr;        ///< network above the nodes, as a cluster file has it
  std::vector<std::string> nics;                 ///< which NICs carry training; empty: those nearest to a GPU
  std::optional<BytesPerSecond> nic_rate, pcie;  ///< replace those of the source
  std::optional<int> domain_gpus;                ///< of an NVLink domain of several hosts
};

/// The cluster file, as `foretoken simulate` takes it. NICs that no GPU has for its nearest (management, storage) are
/// left out, and a note says so. Complaints call the source `file`: an unknown NIC rate, a GPU that differs from the
/// source's, nodes with NICs but no network.
[[nodiscard]] nlohmann::ordered_json cluster_of(const Machine& machine, const net::Gpu& gpu,
                                                const MachineChoices& choices, const std::string& file,
                                                Findings& findings);

/// `value` as indented text; values that fit stand on one line.
[[nodiscard]] std::string compact_text(const nlohmann::ordered_json& value);

}  // namespace foretoken::io
