// How long GPU work takes on fitted hardware: shape + profile -> seconds. Pure functions, no I/O.
#pragma once

#include "sim/base/kernel.h"
#include "sim/base/placement.h"
#include "sim/base/units.h"
#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Which cuBLAS a runtime was linked with, as far as it matters.
enum class GemmLibrary : std::uint8_t { kCurrent, kBeforeCuda11_7 };

/// One GEMM kernel. Precondition: profile.gemm has shape.precision (io checks it).
[[nodiscard]] Seconds gemm_time(const GemmShape& shape, const Profile& profile,
                                GemmLibrary library = GemmLibrary::kCurrent);
/// One fused attention kernel (forward or backward).
[[nodiscard]] Seconds attention_time(const AttentionShape& shape, const Profile& profile);
/// One memory-bound kernel.
[[nodiscard]] Seconds memory_bound_time(const MemoryBoundShape& shape, const Profile& profile);
/// One quantisation of a 16-bit tensor.
[[nodiscard]] Seconds quantisation_time(const QuantisationShape& shape, const Profile& profile);
/// One collective on links of kind `links`; zero for one rank.
[[nodiscard]] Seconds collective_time(const CollectiveShape& shape, const NodeLinks& links, const Profile& profile);
/// One message between two GPUs.
[[nodiscard]] Seconds point_to_point_time(const PointToPointShape& shape, const NodeLinks& links,
                                          const Profile& profile);

}  // namespace foretoken::cost
