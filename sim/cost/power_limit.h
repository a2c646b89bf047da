// The clock of GPUs whose board limit is lowered.
#pragma once

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Returns the time of busy kernels under `limit` watts, relative to the time under the datasheet's `board` watts:
/// (board / limit)^(1/3). Power grows with clock and voltage squared, and voltage with the clock.
///
/// Source: the two fitted profiles of one chip. A100 reaches 0.90 times its rate at 400 W (SXM) under 300 W (PCIe); the
/// law says 0.91. Holds for: limits from half of the board's to the board's. Precondition: 0 < limit <= board.
[[nodiscard]] double power_limit_factor(double limit, double board);

/// Slows products and attention of a profile by `factor`. Kernels that wait for memory keep their time.
void slow_clock(Profile& profile, double factor);

}  // namespace foretoken::cost
