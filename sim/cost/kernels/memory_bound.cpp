// Time of kernels that move bytes and hardly compute.
#include "sim/base/check.h"
#include "sim/cost/costs.h"

namespace foretoken::cost {

/// Time of a kernel that reads and writes `bytes` once.
///
///   t = launch + bytes / (efficiency x bandwidth)
///
/// Source: datasheet bandwidth; the profile states the part of it that fused elementwise kernels reach.
/// Holds for: tensors that do not stay in the L2 cache; smaller ones run faster.
/// Error: no published kernel table exists; see docs/modeller/costs.md.
Seconds memory_bound_time(const MemoryBoundShape& shape, const Profile& profile) {
  const MemoryBoundLaw& law = profile.memory_bound;
  expects(shape.bytes >= Bytes(0), "a kernel moves no negative number of bytes");
  return law.launch + shape.bytes / (law.efficiency * law.bandwidth);
}

}  // namespace foretoken::cost
