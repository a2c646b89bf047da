// Published runs that resemble a scenario, predicted.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/html/report_data.h"
#include "sim/job/job.h"

namespace foretoken::tools {

/// At most `count` measured steps nearest to `scenario`, nearest first; none farther than a hundredfold model on
/// another generation of GPU. Distance counts doublings of parameters, GPUs, degrees and sequence, and steps between
/// kinds of GPU, software, precision and recomputation; it orders, and means nothing else. Throws ConfigError when the
/// cases cannot be read.
[[nodiscard]] std::vector<html::NearRun> near_runs(const job::Job& scenario, std::size_t count);

}  // namespace foretoken::tools
