// Measures collectives: over the GPUs of this process, or over all processes of a job.
#pragma once

#include <filesystem>

#include "calibration/measure/gpu/device.h"
#include "calibration/measure/gpu/nccl_group.h"
#include "calibration/measure/plan.h"
#include "calibration/measure/session.h"

namespace foretoken::gpu {

/// Measures every group size of the GPUs that this process may use. A single GPU has no communication. Then it measures
/// the costs of one rank, under names of their own: the launch, and the copy that a collective becomes.
measure::Outcome measure_collectives(int devices, measure::PlanSize size, measure::SampleFile& file,
                                     const measure::Session& session);

/// Measures all ranks of a job, then one GPU of each node, then these groups all at once, which share NICs, then each
/// node by itself. Rank 0 has the file and decides. The others follow, and give no file.
measure::Outcome measure_job_collectives(const Job& job, measure::PlanSize size, measure::SampleFile* file,
                                         const measure::Session& session);

}  // namespace foretoken::gpu
