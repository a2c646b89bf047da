// Applies overrides of the command line: --set parallelism.tensor=4.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Sets one member of `target`. `assignment` is KEY.KEY...=VALUE, where VALUE is JSON, or else a string.
/// Missing objects on the path are made. A name on the path (model, cluster, ...) becomes {"base": NAME}. So
/// model.num_hidden_layers=48 changes one number of a named model. Relative paths in VALUE start at the current folder.
/// Complains about a member that cannot be set.
void apply_set(nlohmann::json& target, std::string_view assignment, Findings& findings);

}  // namespace foretoken::io
