// Checks the shapes of two-way schedules.
#include "sim/schedule/flush/two_way.h"

#include <fmt/format.h>

namespace foretoken::schedule {

std::optional<std::string> two_way_rule(PipelineShape shape) {
  if (shape.chunks != 2)
    return fmt::format(
        "expected 2 chunks a stage (virtual pipeline), one of each copy of the model, found {}; try 2 chunks",
        shape.chunks);
  if (shape.stages % 2 != 0)
    return fmt::format("expected an even number of pipeline stages, found {}; try pipeline {}", shape.stages,
                       shape.stages + 1);
  if (shape.group != 0)
    return fmt::format("expected no micro-batch group (only interleaved-1f1b has one), found {}; try without it",
                       shape.group);
  return std::nullopt;
}

}  // namespace foretoken::schedule
