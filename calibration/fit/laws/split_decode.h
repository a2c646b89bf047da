// Splits the decode kernels of one engine into ranges of heads, and fits a law on each.
#pragma once

#include <vector>

#include "calibration/fit/laws/fit_decode.h"

namespace foretoken::fit {

/// Returns the laws of these rows. They cover every row, and no row has two. A range is split between two head
/// dimensions, or at a number of query heads where kernels change, while that lowers the misfit clearly. Precondition:
/// one row is not held out.
[[nodiscard]] std::vector<cost::EngineDecodeLaw> split_decode(const DecodeRows& rows, BytesPerSecond bandwidth);

}  // namespace foretoken::fit
