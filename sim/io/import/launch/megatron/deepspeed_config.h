// The DeepSpeed configuration beside a launch of Megatron-DeepSpeed.
#pragma once

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

/// Maps ZeRO and offload of the configuration, which win over --zero-stage. Refuses what changes the answer.
/// Asks for the keys of the scenario that a value of which nothing is known would change.
void map_deepspeed_config(const Json& config, Report& report);

/// Takes a configuration that is not there by --zero-stage, or by its name, and asks for the stage without either.
void map_missing_config(const std::vector<Argument>& arguments, Report& report);

}  // namespace foretoken::io::launch::megatron
