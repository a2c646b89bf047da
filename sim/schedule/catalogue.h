// The schedules we know, by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// A schedule: a pure function from a shape to the op list of every stage.
struct Schedule {
  std::string_view name;                      ///< "gpipe", "gpipe-fifo", "1f1b", "interleaved-1f1b"
  std::string_view description;               ///< one line for `schedule list`, with its source
  bool interleaves = false;                   ///< needs chunks > 1
  Program (*build)(PipelineShape) = nullptr;  ///< precondition: `why_not` finds nothing against the shape
  /// What this schedule alone asks of a shape that its kind allows; none: nothing. Call `why_not` instead.
  std::optional<std::string> (*own_rule)(PipelineShape) = nullptr;
};

/// All schedules, in the order in which they are listed.
[[nodiscard]] std::span<const Schedule> all_schedules();

/// The schedule of that name, if there is one.
[[nodiscard]] std::optional<Schedule> find_schedule(std::string_view name);

/// Why `schedule` cannot run with that shape (for instance m not a multiple of the group), or nothing when it can.
/// The text says expected, found and what to try.
[[nodiscard]] std::optional<std::string> why_not(const Schedule& schedule, PipelineShape shape);

}  // namespace foretoken::schedule
