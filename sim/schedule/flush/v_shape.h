// The placement of all schedules in a V, and the shapes that they take.
#pragma once

#include <optional>
#include <string>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

inline constexpr Chunk kDown{0}, kUp{1};  ///< from stage 0 to the last stage, and back

[[nodiscard]] inline Placement v_place(PipelineShape shape) { return Placement::v_shaped(shape.stages); }

/// Returns the fault of the shape, or nothing: a V has two chunks a stage, two stages or more, and no groups.
[[nodiscard]] std::optional<std::string> v_rule(PipelineShape shape);

}  // namespace foretoken::schedule
