// What stands in the header of the samples: read from nvidia-smi's answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::measure {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Fields asked of `nvidia-smi --query-gpu=... --format=csv,noheader`, in order; none identifies the machine.
[[nodiscard]] const std::vector<std::string_view>& smi_fields();
/// The command for one GPU, given as nvidia-smi's --id (an index or a PCI bus id).
[[nodiscard]] std::string smi_command(std::string_view gpu);
/// Its one line of answer as facts. What the driver does not know ("[N/A]") is left out. Empty when the line has
/// another number of fields.
[[nodiscard]] Facts smi_facts(std::string_view line);
/// The matrix of `nvidia-smi topo -m`, GPU and NIC rows only, columns between single blanks, rows between "; ".
[[nodiscard]] std::string topology_text(std::string_view answer);
/// "13.0" from 13000, as CUDA numbers its versions; "2.28.9" from 22809, as NCCL does.
[[nodiscard]] std::string cuda_version_text(int version);
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace foretoken::measure
