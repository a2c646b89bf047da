// Products of 32-bit elements on a GPU whose tables have 16-bit ones only.
#pragma once

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Returns the part of a product's time that goes into loading 32-bit elements, relative to that in 16 bits: twice the
/// bytes, in a time that is longer by `rate`, the dense rate relative to that of 16 bits.
[[nodiscard]] constexpr double loading_share(double rate) { return 2 * rate; }

/// Adds a law for products in `precision` (fp32 or tf32), from the profile's own law for 16 bits. The dense rate is
/// `rate` times that of 16 bits, and elements have 4 bytes. What keeps the inner loop from its peak is loading, so it
/// counts by loading_share(): as much for tf32, and an eighth to a quarter for fp32. The law counts as
/// scaled. A law that the profile has stands. Does nothing where the profile has no 16-bit law.
/// Error: steps of BERT in tf32 on A100 and in fp32 on V100, docs/modeller/costs.md.
void lend_wide_products(Profile& profile, Precision precision, double rate);

}  // namespace foretoken::cost
