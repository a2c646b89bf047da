// Searches the orders of a small pipeline one after another, up to a number of steps.
#pragma once

#include <optional>

#include "sim/schedule/made/make_schedule.h"

namespace foretoken::schedule {

/// Returns an order with a shorter makespan than `bound`, the shortest of all if the search ends within `steps`; else
/// nothing. It goes through active orders, in which no pass could start earlier without delaying another (Giffler and
/// Thompson 1960), and leaves those that cannot end before the best one known.
[[nodiscard]] std::optional<Program> shorter_order(const MakeQuestion& question, std::int64_t bound,
                                                   std::int64_t steps);

}  // namespace foretoken::schedule
