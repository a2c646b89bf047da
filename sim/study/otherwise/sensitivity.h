// Measures the effect of each hardware property on the step time.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/base/process/watch.h"
#include "sim/job/job.h"

namespace foretoken::study {

/// The step with one hardware property smaller and larger, and everything else unchanged.
struct Sensitivity {
  std::string_view name;     ///< "network interface rate"
  std::string_view belongs;  ///< its key in a file: "cluster.node.nics.gb_per_s"
  Seconds smaller, larger;   ///< step times
  [[nodiscard]] Seconds swing() const { return smaller > larger ? smaller - larger : larger - smaller; }
};

/// Simulates `job` with each hardware property times 1 - part and times 1 + part. The properties are rates of
/// arithmetic, memory and links, launch and network latencies, and host time. The largest swing comes first, ties in
/// the order of the list. All times are times `bias_factor` (report::Metrics). Properties that the cluster lacks, such
/// as NVLink, are left out. Work that is stopped gives the properties that are done. Precondition: 0 < part < 1.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const job::Job& job, double part, double bias_factor = 1,
                                                     const Watch& watch = {});

/// Returns the number of properties that sensitivities() tries.
[[nodiscard]] std::size_t sensitivity_count(const job::Job& job);

}  // namespace foretoken::study
