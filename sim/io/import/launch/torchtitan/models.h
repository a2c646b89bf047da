// The model flavors of torchtitan that are known by name.
#pragma once

#include <optional>
#include <string>

#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::torchtitan {

/// Returns the model of `name` ("llama3") and `flavor` ("8B", any case); nothing for others, which are names in
/// torchtitan's code.
[[nodiscard]] std::optional<NamedModel> flavor_of(const std::string& name, const std::string& flavor);

/// Returns true for a model whose layers have experts: "deepseek_v3", or a flavor that states the parameters of a token
/// as "30B-A3B" does.
[[nodiscard]] bool has_experts(const std::string& name, const std::string& flavor);

}  // namespace foretoken::io::launch::torchtitan
