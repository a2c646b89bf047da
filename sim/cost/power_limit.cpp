// Lowers the clock of a profile.
#include "sim/cost/power_limit.h"

#include <cmath>
#include <variant>

#include "sim/base/check.h"

namespace foretoken::cost {

double power_limit_factor(double limit, double board) {
  expects(limit > 0 && limit <= board, "a power limit lies below the board's");
  return std::cbrt(board / limit);
}

void slow_clock(Profile& profile, double factor) {
  for (auto& [precision, gemm] : profile.gemm)
    std::visit([factor](auto& law) { law.sustained_factor *= factor; }, gemm.law);
  profile.attention.sustained_factor *= factor;
}

}  // namespace foretoken::cost
