// Fits the laws of decode attention on tables of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/kernels/decode_attention.h"

namespace foretoken::fit {

/// The rows of the tables that a law is fitted on.
struct DecodeChoice {
  cost::CacheKind kind = cost::CacheKind::kWide;
  std::string engine{};                               ///< whose kernels; empty: anyone's
  std::int64_t fewest_shared = 1, most_shared = 128;  ///< query heads for each key-value head
};

/// Returns the law of the chosen rows, or nothing where the tables have fewer than a hundred. Rows count from 1,024
/// cached tokens on, without a window, with heads of at most 256. One shape in five is left out of the fit and
/// gives the errors. `bandwidth` is the datasheet's.
[[nodiscard]] std::optional<cost::DecodeLaw> fit_decode(const measured::Samples& samples, const DecodeChoice& choice,
                                                        BytesPerSecond bandwidth);

}  // namespace foretoken::fit
