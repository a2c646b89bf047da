// Lists the work by which profiles are compared.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/placement.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

struct TypicalWork {
  std::string name;
  std::function<std::optional<Seconds>(const cost::Profile&)> time;  ///< nothing where the profile has no law for it
};

/// Returns products from small to large in every precision, attention, memory-bound kernels, and collectives inside a
/// node and across two nodes with eight NICs of 50 GB/s.
[[nodiscard]] std::vector<TypicalWork> typical_work();

/// Returns a node of eight GPUs and eight NICs of 50 GB/s. Its NVLink rate is the one that the profile's curves were
/// measured at.
[[nodiscard]] NodeLinks eight_gpu_node(const cost::Profile& profile);

}  // namespace foretoken::fit
