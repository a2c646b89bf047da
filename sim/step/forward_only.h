// An evaluation step: the forward passes of a step alone.
#pragma once

#include "sim/base/units.h"
#include "sim/job/job.h"
#include "sim/schedule/program.h"

namespace foretoken::step {

/// Returns `job` as an evaluation runs it: nothing is dropped.
[[nodiscard]] job::Job evaluation_of(job::Job job);

/// Returns the forward passes of all micro-batches in the order of the job's schedule.
[[nodiscard]] schedule::Program forward_passes(const job::Job& job);

/// Returns the time of these passes with their messages, by a task graph (fast::forward_only_time needs none). Sharded
/// parameters are gathered. Nothing is reduced or updated.
[[nodiscard]] Seconds forward_only_time(const job::Job& job);

}  // namespace foretoken::step
