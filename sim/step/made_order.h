// Makes the order of a job's passes from their times and from the memory of its GPUs.
#pragma once

#include "sim/job/job.h"
#include "sim/schedule/program.h"

namespace foretoken::step {

/// Returns the shortest order found for the passes of `job` (schedule::make_schedule) that keeps the activations of
/// every stage within its GPU. Messages take the time of the slowest link. Where not even one micro-batch fits, the
/// limit is one: the prediction then says that the job does not fit. Precondition: `job.schedule.made`.
[[nodiscard]] schedule::Program made_order(const job::Job& job);

}  // namespace foretoken::step
