// Time of kernels that move bytes and hardly compute.
#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::cost {
namespace {

Seconds time_of(Bytes bytes, const MemoryBoundLaw& law) {
  return size_factor(law.correction, bytes) * (law.launch + bytes / (law.efficiency * law.bandwidth));
}

}  // namespace

/// Time of a kernel that reads and writes `bytes` once.
///
///   t = correction(bytes) (launch + bytes / (efficiency x bandwidth))
///
/// Source: datasheet bandwidth; the profile states the part of it that fused elementwise kernels reach.
/// Holds for: tensors that do not stay in the L2 cache, unless the profile has a correction by size.
/// Error: the profile's memory_bound residuals; docs/modeller/costs.md where it has none.
Seconds memory_bound_time(const MemoryBoundShape& shape, const Profile& profile) {
  expects(shape.bytes >= Bytes(0), "a kernel moves no negative number of bytes");
  return time_of(shape.bytes, profile.memory_bound);
}

/// Time of a quantisation: the cast, behind a scan of the whole tensor where its scale is not known.
///
///   t = cast(read 2, write the new width) [+ scan(read 2)], bytes an element; each a memory-bound law
///
/// Source: casts and scans of ai-dynamo/aiconfigurator's quantisation tables. Holds for: one kernel each, unfused.
/// Error: the profile's quantisation residuals.
Seconds quantisation_time(const QuantisationShape& shape, const Profile& profile) {
  expects(shape.elements >= 0, "a tensor has no negative number of elements");
  const MemoryBoundLaw& cast = profile.quantisation ? profile.quantisation->cast : profile.memory_bound;
  const MemoryBoundLaw& scan = profile.quantisation ? profile.quantisation->scan : profile.memory_bound;
  const Seconds time = time_of(shape.cast_bytes(), cast);
  return shape.finds_scale ? time + time_of(shape.scan_bytes(), scan) : time;
}

}  // namespace foretoken::cost
