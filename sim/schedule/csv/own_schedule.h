// A schedule that was read from a file, as one that jobs can hold.
#pragma once

#include <string>

#include "sim/schedule/csv/read_csv.h"
#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// Returns the schedule `name`. It builds the imported program, and refuses every other shape.
[[nodiscard]] Schedule own_schedule(std::string name, ImportedSchedule imported);

}  // namespace foretoken::schedule
