// The engine's clock: whole picoseconds, so that equal times are exactly equal.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace foretoken::des {

/// A length of time in whole picoseconds.
struct Duration {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ps + b.ps}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
  constexpr Duration& operator+=(Duration other) {
    ps += other.ps;
    return *this;
  }
};

/// A point in simulated time; two points do not add.
struct Instant {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant a, Duration d) { return {a.ps + d.ps}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ps - b.ps}; }
};

/// The time of events that never happen. It is later than every other time.
inline constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

/// Returns `a + d` and checks that int64 holds it. `d` is not negative.
inline Instant later(Instant a, Duration d) {
  Instant sum;
  const bool overflow = __builtin_add_overflow(a.ps, d.ps, &sum.ps);
  expects(!overflow && sum < kNever, "simulated time stays below 2^63 - 1 picoseconds (106 days)");
  return sum;
}

/// Converts Seconds of the models to engine time; the only way in. Rounds to the nearest picosecond.
inline Duration to_duration(Seconds t) {
  const double ps = t.value() * 1e12;
  expects(std::abs(ps) < 0x1p63, "a duration is a number below 2^63 picoseconds (106 days)");  // refuses NaN too
  return {std::llround(ps)};
}
inline Seconds to_seconds(Duration d) { return Seconds(static_cast<double>(d.ps) * 1e-12); }

}  // namespace foretoken::des
