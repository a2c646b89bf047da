// Work that profiles are compared by.
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

/// Products from small to large in every precision, attention, memory-bound kernels, collectives inside a node and
/// across two nodes with eight NICs of 50 GB/s.
[[nodiscard]] std::vector<TypicalWork> typical_work();

/// A node of eight GPUs with the NVLink rate that the profile's curves were measured at and eight NICs of 50 GB/s.
[[nodiscard]] NodeLinks eight_gpu_node(const cost::Profile& profile);

}  // namespace foretoken::fit
