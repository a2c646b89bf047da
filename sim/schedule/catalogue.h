// The schedules that have a name in scenarios.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// Returns all schedules, in the order in which they are listed.
[[nodiscard]] std::span<const Schedule> all_schedules();

/// Returns the schedule of that name, if there is one.
[[nodiscard]] std::optional<Schedule> find_schedule(std::string_view name);

/// Returns the schedule of that name. Precondition: there is one.
[[nodiscard]] Schedule schedule_named(std::string_view name);

}  // namespace foretoken::schedule
