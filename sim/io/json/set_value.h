// Overrides from the command line: --set parallelism.tensor=4.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Sets one member of `target`. `assignment` is KEY.KEY...=VALUE; VALUE is JSON, or else a string. Objects on the way
/// are made; a name on the way (model, cluster, ...) becomes {"base": NAME}, so that model.num_hidden_layers=48 changes
/// one number of a named model. Relative paths in VALUE start at the current folder. Complains where it cannot be set.
void apply_set(nlohmann::json& target, std::string_view assignment, Findings& findings);

}  // namespace foretoken::io
