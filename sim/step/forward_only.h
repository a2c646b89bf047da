// An evaluation step: the forward passes of a step alone.
#pragma once

#include "sim/base/units.h"
#include "sim/job/job.h"

namespace foretoken::step {

/// Returns the time of the forward passes of all micro-batches of `job`, in the order of its schedule, with their
/// messages. Sharded parameters are gathered. Nothing is reduced or updated.
[[nodiscard]] Seconds forward_only_time(const job::Job& job);

}  // namespace foretoken::step
