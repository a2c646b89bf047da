// Times of GPU work on fitted hardware: shape + profile -> seconds. Pure functions, no I/O.
#pragma once

#include "sim/base/kernel.h"
#include "sim/base/placement.h"
#include "sim/base/units.h"
#include "sim/cost/profile.h"

namespace foretoken::cost {

/// The cuBLAS that a runtime was linked with. Only one difference matters (MisalignedRows).
enum class GemmLibrary : std::uint8_t { kCurrent, kBeforeCuda11_7 };

/// Time of one GEMM kernel. Precondition: profile.gemm has shape.precision (io checks it).
[[nodiscard]] Seconds gemm_time(const GemmShape& shape, const Profile& profile,
                                GemmLibrary library = GemmLibrary::kCurrent);
/// Time of one fused attention kernel (forward or backward).
[[nodiscard]] Seconds attention_time(const AttentionShape& shape, const Profile& profile);
/// Time of one memory-bound kernel.
[[nodiscard]] Seconds memory_bound_time(const MemoryBoundShape& shape, const Profile& profile);
/// Time of one quantisation of a 16-bit tensor.
[[nodiscard]] Seconds quantisation_time(const QuantisationShape& shape, const Profile& profile);
/// Time of one collective on links of kind `links`; zero for one rank.
[[nodiscard]] Seconds collective_time(const CollectiveShape& shape, const NodeLinks& links, const Profile& profile);
/// Time of one message between two GPUs.
[[nodiscard]] Seconds point_to_point_time(const PointToPointShape& shape, const NodeLinks& links,
                                          const Profile& profile);
/// Time of one copy between two GPUs of an NVLink domain by a copy engine.
[[nodiscard]] Seconds peer_copy_time(Bytes payload, const NodeLinks& links, const Profile& profile);

}  // namespace foretoken::cost
