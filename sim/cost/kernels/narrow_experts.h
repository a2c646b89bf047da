// The time of grouped products of experts whose weights have 4 bits: one product of each expert that some token meets.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// The whole blocks that a kernel computes. Rows of an expert fill blocks of the first size that the mean leaves a
/// tenth free, and blocks of the last size where the mean fills all of them. The last block of an expert is half full
/// on average. Widths are filled up to multiples.
struct ExpertBlocks {
  std::vector<std::int64_t> rows{};  ///< ascending sizes; empty: rows are not filled up
  std::int64_t outputs = 1, inputs = 1;
};

/// A GPU's grouped products over weights in MXFP4, as serving engines run them.
///
///   t = launch + choices expert + (memory^p + compute^p)^(1/p),  memory = bytes of the weights / bandwidth,  compute =
///   FLOP / rate
///
/// `launch` is of one product. Both products of a layer of experts have the same law, so their times add up to that of
/// a measured layer without the kernels beside them.
struct NarrowExpertsLaw {
  Seconds launch{};
  Seconds expert{};            ///< for each expert of the model: tokens are sorted by all of them
  BytesPerSecond bandwidth{};  ///< its efficiency is included
  FlopPerSecond rate{};
  double sharpness = 1;  ///< p
  ExpertBlocks blocks{};
  Evidence evidence{};
};

/// One product of every expert that is met. Widths are those that remain after sharding.
struct NarrowExperts {
  std::int64_t experts = 1;  ///< that some token meets
  std::int64_t rows = 1;     ///< of each of them
  std::int64_t outputs = 1, inputs = 1;
  std::int64_t choices = 0;   ///< experts that the router chooses from
  double weight_bytes = 0.5;  ///< of an element, with its part of the scales
};

/// Returns the time of one grouped product. Precondition: every number is positive.
[[nodiscard]] Seconds narrow_experts_time(const NarrowExperts& shape, const NarrowExpertsLaw& law);

}  // namespace foretoken::cost
