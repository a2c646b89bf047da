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

// Returns the name of a variable of the toolkit, or of the library of modules for it; empty for none.
std::string variable_of_ascend(const shell::Script& script) {
  for (const auto& [name, value] : script.variables.values) {
    if (hangs_on_condition(value)) continue;
    for (const std::string_view begin : {"NPUS_PER_NODE", "ASCEND_", "PYTORCH_NPU_"})
      if (name.starts_with(begin)) return name;
    const bool path = name == "PYTHONPATH" && !value.empty();
    if (path && lower_case(value.front()).find("mindspeed") != std::string::npos) return name;
  }
  return "";
}

// .../Ascend/ascend-toolkit/set_env.sh, env_npu.sh
bool is_file_of_ascend(const std::string& file) {
  const std::filesystem::path path(file);
  const auto words = words_of_name(path.filename().string());
  return std::ranges::find(words, "npu") != words.end() ||
         std::ranges::any_of(path, [](const std::filesystem::path& part) {
           return part == "Ascend" || part == "ascend-toolkit" || part == "CANN";
         });
}

// pip install torch-npu, python -c "import torch_npu". Other words may name folders.
bool names_library_of_ascend(const shell::Command& command) {
  const auto has = [&](std::string_view word) {
    return std::ranges::any_of(command.words, [&](const std::string& one) { return one == word; });
  };
  const bool installs = has("install") || has("-c");
  return installs && std::ranges::any_of(command.words, [](const std::string& word) {
           for (const char* name : {"torch_npu", "torch-npu", "mindspeed"})
             if (lower_case(word).find(name) != std::string::npos) return true;
           return false;
         });
}

// Google's trainings on TPUs: AI-Hypercomputer/maxtext, MaxText/train.py and the modules of src/maxtext.
bool starts_maxtext(const shell::Command& command) {
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const std::string word = lower_case(command.words[at]);
    if (word == "maxtext/train.py" || word.ends_with("/maxtext/train.py")) return true;
    if (command.words[at - 1] == "-m" && word.starts_with("maxtext.")) return true;
  }
  return false;
}

}  // namespace

bool refuse_maxtext(const shell::Script& script, Report& report) {
  const auto found =
      std::ranges::find_if(script.commands, [](const auto& one) { return one.certain && starts_maxtext(one); });
  if (found == script.commands.end()) return false;
  report.refuse("MaxText", "a training of MaxText, which JAX runs on TPUs or GPUs; its kernels are not modelled",
                found->place());
  return true;
}

void refuse_other_devices(const shell::Script& script, Report& report) {
  if (const std::string variable = variable_of_ascend(script); !variable.empty())
    return report.refuse("ascend", kWhy, "the variable " + printable(variable, 60));
  for (const std::string& missing : script.missing)
    if (is_file_of_ascend(missing) && !script.doubtful.contains(missing))
      return report.refuse("ascend", kWhy, "the file " + printable(missing, 120));
  for (const shell::Command& command : script.commands)
    if (command.certain && names_library_of_ascend(command)) return report.refuse("ascend", kWhy, command.place());
  // Scripts for both kinds set variables of both libraries.
  const auto begins = [&](std::string_view begin) {
    return std::ranges::find_if(script.variables.values, [&](const auto& one) {
      return one.first.starts_with(begin) && !hangs_on_condition(one.second);
    });
  };
  const auto none = script.variables.values.end();
  if (const auto own = begins("HCCL_"); own != none && begins("NCCL_") == none)
    report.refuse("hccl", kBackends[2].second, "the variable " + printable(own->first, 60));
}

bool is_branch_of_other_device(const shell::Command& command) {
  return !command.certain && other_backend_of(command).has_value();
}

std::int64_t usual_row(const std::vector<const shell::Command*>& trainings) {
  const auto first = std::ranges::find_if(trainings, [](const auto* one) { return !is_branch_of_other_device(*one); });
  return first == trainings.end() ? 1 : first - trainings.begin() + 1;
}

std::int64_t fullest_row(const std::vector<const shell::Command*>& trainings) {
  // The launcher's own flags say nothing of the training.
  const auto flags = [](const shell::Command* one) {
    const auto program =
        std::ranges::find_if(one->words, [](const std::string& word) { return word.ends_with(".py"); });
    const auto begin = program == one->words.end() ? one->words.begin() : program;
    return arguments_of({begin, one->words.end()}, "").size();
  };
  auto best = static_cast<std::size_t>(usual_row(trainings) - 1);
  for (std::size_t i = best + 1; i < trainings.size(); ++i)
    if (!is_branch_of_other_device(*trainings[i]) && flags(trainings[i]) > flags(trainings[best])) best = i;
  return static_cast<std::int64_t>(best) + 1;
}

void refuse_other_backend(const shell::Command& command, Report& report) {
  if (const auto backend = other_backend_of(command))
    report.refuse(backend->setting, backend->because, command.place());
}

}  // namespace foretoken::io::launch
