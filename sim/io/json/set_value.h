// Applies overrides of the command line: --set parallelism.tensor=4.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Sets one member of `target`. `assignment` is KEY.KEY...=VALUE, where VALUE is JSON, or else a string.
/// Missing objects on the path are made. A name on the path (model, cluster, ...) becomes {"base": NAME}. So
/// model.num_hidden_layers=48 changes one number of a named model. Relative paths in VALUE start at the current folder.
/// Complains about a member that cannot be set.
void apply_set(nlohmann::json& target, std::string_view assignment, Findings& findings);

/// Names the override in complaints about a value of `file` that one of `sets` states.
[[nodiscard]] std::vector<Complaint> named_by_sets(std::vector<Complaint> complaints, const std::string& file,
                                                   std::span<const std::string> sets);

}  // namespace foretoken::io
