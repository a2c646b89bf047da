// Tells scripts for devices that are no GPUs.
//
// Names: Ascend/MindSpeed-LLM, docs and examples; the folders are those in which the CANN toolkit is installed.
#include "sim/io/import/launch/other_devices.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"

namespace foretoken::io::launch {
namespace {

/// Libraries of collectives that no GPU of NVIDIA or AMD has, behind flags of Megatron-LM and of the Trainer.
constexpr std::string_view kBackendFlags[] = {"distributed-backend", "ddp-backend", "dist-backend", "backend"};
constexpr std::pair<std::string_view, const char*> kBackends[] = {
    {"ccl", "the collectives of Intel's devices; their kernels are not modelled"},
    {"xccl", "the collectives of Intel's devices; their kernels are not modelled"},
    {"hccl", "the collectives of Ascend or Gaudi; their kernels are not modelled"},
    {"cncl", "the collectives of Cambricon's devices; their kernels are not modelled"},
    {"mccl", "the collectives of Moore Threads' devices; their kernels are not modelled"}};

constexpr const char* kWhy = "the script is for Ascend NPUs; their kernels are not those of a GPU";

bool hangs_on_condition(const shell::Texts& value) {
  return !value.empty() && shell::why_unknown(value.front()).starts_with(shell::kOpenCondition);
}

/// A flag of a command that names such a library.
struct Backend {
  std::string setting;
  const char* because;
};

std::optional<Backend> other_backend_of(const shell::Command& command) {
  const std::vector<Argument> arguments = arguments_of(command.words, "");
  for (const std::string_view flag : kBackendFlags)
    for (const auto& [backend, because] : kBackends)
      if (value_of(arguments, flag) == backend)
        return Backend{"--" + std::string(flag) + " " + std::string(backend), because};
  return std::nullopt;
}

}  // namespace

void refuse_other_devices(const shell::Script& script, Report& report) {
  for (const auto& [name, value] : script.variables.values)
    for (const std::string_view begin : {"NPUS_PER_NODE", "ASCEND_", "PYTORCH_NPU_"})
      if (name.starts_with(begin) && !hangs_on_condition(value))
        return report.refuse("ascend", kWhy, "the variable " + printable(name, 60));
  for (const std::string& missing : script.missing) {
    const bool toolkit = std::ranges::any_of(std::filesystem::path(missing), [](const std::filesystem::path& part) {
      return part == "Ascend" || part == "ascend-toolkit";
    });
    if (toolkit && !script.doubtful.contains(missing))
      return report.refuse("ascend", kWhy, "the file " + printable(missing, 120));
  }
}

bool is_branch_of_other_device(const shell::Command& command) {
  return !command.certain && other_backend_of(command).has_value();
}

std::int64_t usual_row(const std::vector<const shell::Command*>& trainings) {
  const auto first = std::ranges::find_if(trainings, [](const auto* one) { return !is_branch_of_other_device(*one); });
  return first == trainings.end() ? 1 : first - trainings.begin() + 1;
}

void refuse_other_backend(const shell::Command& command, Report& report) {
  if (const auto backend = other_backend_of(command))
    report.refuse(backend->setting, backend->because, command.place());
}

}  // namespace foretoken::io::launch
