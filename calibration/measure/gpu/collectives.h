// Measuring collectives: over the GPUs of this process, or over all processes of a job.
#pragma once

#include <filesystem>

#include "calibration/measure/gpu/device.h"
#include "calibration/measure/gpu/nccl_group.h"
#include "calibration/measure/plan.h"
#include "calibration/measure/session.h"

namespace foretoken::gpu {

/// Every group size of the GPUs that this process sees. With a single GPU there is nothing to communicate: what is
/// measured is then what one rank costs (launch, and the copy that its collectives come to), under such names.
measure::Outcome measure_collectives(int devices, measure::PlanSize size, measure::SampleFile& file,
                                     const measure::Session& session);

/// All ranks of a job; one GPU of each node, alone and all of them at once, which then share NICs; and each node by
/// itself. Rank 0 keeps the file and decides; the others follow, and give no file.
measure::Outcome measure_job_collectives(const Job& job, measure::PlanSize size, measure::SampleFile* file,
                                         const measure::Session& session);

}  // namespace foretoken::gpu
