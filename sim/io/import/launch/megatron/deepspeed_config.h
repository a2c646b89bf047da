// The DeepSpeed configuration beside a launch of Megatron-DeepSpeed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Returns the configuration that --deepspeed_config names: a here document of the script, or a file in `folder`.
/// Nothing where it is not there. Values that nobody knows are unknown texts.
[[nodiscard]] std::optional<Json> deepspeed_config_of(const shell::Script& script,
                                                      const std::vector<Argument>& arguments,
                                                      const std::string& folder);

/// Returns why the text that the script writes into the configuration of --deepspeed_config is none: "the DeepSpeed
/// configuration that the script writes is no JSON: ...". Empty for other files.
[[nodiscard]] std::string why_written_config_is_wrong(const shell::Script& script,
                                                      const std::vector<Argument>& arguments);

/// Maps ZeRO and offload of the configuration, which win over --zero-stage. Refuses what changes the answer.
/// Asks for the keys of the scenario that a value of which nothing is known would change.
void map_deepspeed_config(const Json& config, Report& report);

/// Takes --deepspeed_config out of the arguments. Returns what maps its file, once the other arguments are mapped. A
/// configuration that is not there is taken by --zero-stage, or by its name; without either the stage is asked for.
[[nodiscard]] std::function<void(Report&)> take_deepspeed_config(const shell::Script& script, const std::string& folder,
                                                                 std::vector<Argument>& arguments);

}  // namespace foretoken::io::launch::megatron
