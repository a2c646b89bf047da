// Makes a cluster file from the links of a machine; the user adds facts that the source does not hold.
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
  std::string gpu;                               ///< name or path of the GPU's file, as the cluster file names it
  const nlohmann::json* fabric = nullptr;        ///< network above the nodes: the "fabric" of a cluster file
  std::vector<std::string> nics;                 ///< NICs that carry training; empty: the NICs nearest to a GPU
  std::optional<BytesPerSecond> nic_rate, pcie;  ///< replace the rates of the source
  std::optional<int> domain_gpus;                ///< GPUs of an NVLink domain across hosts
};

/// Returns the cluster file, as `foretoken simulate` takes it. NICs that are nearest to no GPU (for management,
/// storage) are left out with a note. Complains about an unknown NIC rate, about a GPU that differs from the source's,
/// and about NICs without a network above the nodes. Complaints call the source `file`.
[[nodiscard]] nlohmann::ordered_json cluster_of(const Machine& machine, const net::Gpu& gpu,
                                                const MachineChoices& choices, const std::string& file,
                                                Findings& findings);

/// Writes `value` as indented text. Values that fit stand on one line.
[[nodiscard]] std::string compact_text(const nlohmann::ordered_json& value);

}  // namespace foretoken::io
