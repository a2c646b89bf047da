// The placement of all two-way schedules, and the shapes that they take.
#pragma once

#include <optional>
#include <string>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

[[nodiscard]] inline Placement two_way_place(PipelineShape shape) { return Placement::two_way(shape.stages); }

/// Returns the fault of the shape, or nothing: a two-way pipeline has an even number of stages, two chunks a stage (one
/// of each copy of the model), and no groups.
[[nodiscard]] std::optional<std::string> two_way_rule(PipelineShape shape);

}  // namespace foretoken::schedule
