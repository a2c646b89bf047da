// The facts in the header of the samples, from nvidia-smi's answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::measure {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// Returns the fields asked of `nvidia-smi --query-gpu=... --format=csv,noheader`, in order. No field identifies the
/// machine.
[[nodiscard]] const std::vector<std::string_view>& smi_fields();
/// Returns the command for one GPU, named by nvidia-smi's --id (an index or a PCI bus id).
[[nodiscard]] std::string smi_command(std::string_view gpu);
/// Returns its line of answer as facts. Fields that the driver does not know ("[N/A]") are left out. The result is
/// empty when the line has another number of fields.
[[nodiscard]] Facts smi_facts(std::string_view line);
/// Returns the matrix of `nvidia-smi topo -m`: GPU and NIC rows only, columns between single blanks, rows between "; ".
[[nodiscard]] std::string topology_text(std::string_view answer);
/// Returns "13.0" for 13000, as CUDA numbers its versions, and "2.28.9" for 22809, as NCCL does.
[[nodiscard]] std::string cuda_version_text(int version);
[[nodiscard]] std::string nccl_version_text(int version);

}  // namespace foretoken::measure
