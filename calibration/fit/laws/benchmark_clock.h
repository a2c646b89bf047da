// The clock of a published benchmark, between that of a brief kernel and that of a long run.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/base/kernel.h"
#include "sim/base/units.h"

namespace foretoken::fit {

inline constexpr Seconds kFullClockProduct(0.5e-3), kFullClockAttention(1e-3), kSustainedClock(16e-3);

/// Returns the time in a benchmark, between the `brief` time at full clocks and the `sustained` one of a long run. A
/// published table runs a kernel twelve times in a row. A kernel with 16-bit operands keeps its clock up to `full`. At
/// 16 ms its clock is that of a long run. In between it falls by equal parts an octave. Narrower kernels keep their
/// clock (docs/modeller/costs.md).
inline Seconds in_table(Seconds brief, Seconds sustained, Seconds full, Precision precision) {
  if (bits_per_element(precision) < 16 || brief <= full) return brief;
  const double part = std::log2(brief / full) / std::log2(kSustainedClock / full);
  return brief + std::min(part, 1.0) * (sustained - brief);
}

/// Returns the time at full clocks of a kernel that took `measured` in a published table, where a long run takes
/// `sustained_factor` times as long. Inverse of in_table().
inline Seconds at_full_clock(Seconds measured, double sustained_factor, Seconds full, Precision precision) {
  constexpr int kTries = 30;  // the clock changes slowly with the time: a step leaves less than a tenth of the error
  Seconds brief = measured;
  for (int step = 0; step < kTries; ++step)
    brief = brief * (measured / in_table(brief, sustained_factor * brief, full, precision));
  return brief;
}

}  // namespace foretoken::fit
