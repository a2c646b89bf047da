// Reads launches of Megatron-LM and its forks: arguments, scripts, and the YAML of its functional tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/megatron/entry_point.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Makes a scenario of flags. Every flag is mapped, assumed about, ignored or refused. `fragment`: another file holds
/// the rest of the launch.
void read_arguments(std::vector<Argument> arguments, Report& report, bool fragment = false,
                    Program program = Program::kUnknown);

/// Makes a scenario of the training command that the script starts. Refuses a script without one.
/// A DeepSpeed configuration is looked for in its here documents, and in `folder`. `flags` follow those of the script,
/// and win over them.
void read_launch_script(const shell::Script& script, const std::string& folder, const std::string& row,
                        const std::vector<std::string>& flags, Report& report);

/// Returns true when the script starts, or holds, arguments of Megatron-LM.
[[nodiscard]] bool is_megatron_script(const shell::Script& script);

/// Makes a scenario of a model_config.yaml of Megatron-LM's functional tests: MODEL_ARGS of --flag: value.
/// `path` names the model's kind: .../test_cases/KIND/NAME/model_config.yaml.
void read_functional_test(const nlohmann::ordered_json& document, const std::string& path, Report& report);

}  // namespace foretoken::io::launch::megatron
