// A machine as found becomes a cluster file: what its source does not tell is taken from the user or complained about.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/machine.h"
#include "sim/net/cluster.h"

namespace foretoken::io {

/// What only the user knows.
struct MachineChoices {
  std::string name;                              ///< of the cluster
  std::string gpu;                               ///< name or path of the GPU's file, as the cluster's will name it
  const nlohmann::json* fabric = nullptr;        ///< network above the nodes, as a cluster file has it
  std::vector<std::string> nics;                 ///< which NICs carry training; empty: those nearest to a GPU
  std::optional<BytesPerSecond> nic_rate, pcie;  ///< replace what the source tells
  std::optional<int> domain_gpus;                ///< of an NVLink domain of several hosts
};

/// The cluster file, as `foretoken simulate` takes it. NICs that no GPU has for its nearest (management, storage) are
/// left out, and a note says so. Adds complaints, `file` being what they call the machine's source: a NIC rate that
/// nobody told, a GPU that is another than the source's, no network for nodes that have NICs.
[[nodiscard]] nlohmann::ordered_json cluster_of(const Machine& machine, const net::Gpu& gpu,
                                                const MachineChoices& choices, const std::string& file,
                                                Findings& findings);

/// `value` as text, indented; what fits stands on one line.
[[nodiscard]] std::string compact_text(const nlohmann::ordered_json& value);

}  // namespace foretoken::io
