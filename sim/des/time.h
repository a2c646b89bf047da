// The engine's clock: whole picoseconds, so that equal times are exactly equal.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

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

/// The only door from models (Seconds) to the engine; rounds to the nearest picosecond.
inline Duration to_duration(Seconds t) { return {std::llround(t.value() * 1e12)}; }
inline Seconds to_seconds(Duration d) { return Seconds(static_cast<double>(d.ps) * 1e-12); }

}  // namespace foretoken::des
