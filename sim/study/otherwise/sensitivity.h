// How much the step time hangs on each property of the hardware.
#pragma once

#include <string_view>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::study {

/// The step with one hardware property made smaller and larger, everything else kept.
struct Sensitivity {
  std::string_view name;     ///< "network interface rate"
  std::string_view belongs;  ///< where it is stated: "cluster.node.nics.gb_per_s"
  Seconds smaller, larger;   ///< step times
  [[nodiscard]] Seconds swing() const { return smaller > larger ? smaller - larger : larger - smaller; }
};

/// Simulates `job` with each hardware property times 1 - part and times 1 + part: rates of arithmetic, memory and
/// links, launch and network latencies, host time. Largest swing first, ties in the order of the list. Properties that
/// the cluster does not have (NVLink, say) are left out. Precondition: 0 < part < 1.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const job::Job& job, double part);

}  // namespace foretoken::study
