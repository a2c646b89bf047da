// The time of grouped products of experts whose weights have 4 bits: one product of each expert that some token meets.
#pragma once

#include <cstdint>

#include "sim/base/units.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// A GPU's grouped products over weights in MXFP4, as serving engines run them.
///
///   t = launch + (memory^p + compute^p)^(1/p),  memory = bytes of the weights / bandwidth,  compute = FLOP / rate
///
/// `launch` is of one product. Both products of a layer of experts have the same law, so their times add up to that of
/// a measured layer without the kernels beside them.
struct NarrowExpertsLaw {
  Seconds launch{};
  BytesPerSecond bandwidth{};  ///< its efficiency is included
  FlopPerSecond rate{};
  double sharpness = 1;  ///< p
  Evidence evidence{};
};

/// One product of every expert that is met. Widths are those that remain after sharding.
struct NarrowExperts {
  std::int64_t experts = 1;  ///< that some token meets
  std::int64_t rows = 1;     ///< of each of them
  std::int64_t outputs = 1, inputs = 1;
  double weight_bytes = 0.5;  ///< of an element, with its part of the scales
};

/// Returns the time of one grouped product. Precondition: every number is positive.
[[nodiscard]] Seconds narrow_experts_time(const NarrowExperts& shape, const NarrowExpertsLaw& law);

}  // namespace foretoken::cost
