// Checks the shapes of schedules in a V.
#include "sim/schedule/flush/v_shape.h"

#include <fmt/format.h>

#include "sim/schedule/flush/interleaved_1f1b.h"

namespace foretoken::schedule {

std::optional<std::string> v_rule(PipelineShape shape) {
  if (shape.chunks != 2) {
    return fmt::format("expected 2 chunks a stage (virtual pipeline), found {}; try 2 chunks", shape.chunks);
  }
  return no_group_rule(shape);
}

}  // namespace foretoken::schedule
