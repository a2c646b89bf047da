// Fits the laws of decode attention on tables of kernels.
#pragma once

#include <optional>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/kernels/decode_attention.h"

namespace foretoken::fit {

/// The tables of one GPU have decode attention of three kinds. Each has a law of its own.
enum class CacheKind { kWide, kNarrow, kLatent };

/// Returns the law of one kind, or nothing where the tables have fewer than a hundred of its rows. Rows count from
/// 1,024 cached tokens on, without a window, with heads of at most 256. One shape in five is left out of the fit and
/// gives the errors. `bandwidth` is the datasheet's.
[[nodiscard]] std::optional<cost::DecodeLaw> fit_decode(const measured::Samples& samples, CacheKind kind,
                                                        BytesPerSecond bandwidth);

}  // namespace foretoken::fit
