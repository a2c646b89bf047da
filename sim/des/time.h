// The engine's clock: whole picoseconds, so that equal times are exactly equal.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace foretoken::des {

/// Throws ConfigError: the question leads to a step that 2^63 picoseconds (106 days) do not hold.
[[noreturn]] void refuse_endless_step();

/// Adds picoseconds. A sum never wraps: times that the clock cannot hold are refused.
constexpr std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) [[unlikely]]
    refuse_endless_step();
  return sum;
}

/// A length of time in whole picoseconds.
struct Duration {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {checked_sum(a.ps, b.ps)}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
  constexpr Duration& operator+=(Duration other) {
    ps = checked_sum(ps, other.ps);
    return *this;
  }
  friend constexpr Duration operator*(std::int64_t times, Duration d) {
    Duration product;
    if (__builtin_mul_overflow(times, d.ps, &product.ps)) [[unlikely]]
      refuse_endless_step();
    return product;
  }
};

/// A point in simulated time; two points do not add.
struct Instant {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant a, Duration d) { return {checked_sum(a.ps, d.ps)}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ps - b.ps}; }
};

/// The time of events that never happen. It is later than every other time.
inline constexpr Instant kNever{std::numeric_limits<std::int64_t>::max()};

/// Returns `a + d`, which comes before kNever. `d` is not negative.
inline Instant later(Instant a, Duration d) {
  const Instant sum = a + d;
  if (sum == kNever) refuse_endless_step();
  return sum;
}

/// Converts Seconds of the models to engine time; the only way in. Rounds to the nearest picosecond. Refuses times that
/// the clock cannot hold.
inline Duration to_duration(Seconds t) {
  const double ps = t.value() * 1e12;
  expects(!std::isnan(ps), "a duration is a number");
  if (std::abs(ps) >= 0x1p63) refuse_endless_step();
  return {std::llround(ps)};
}
inline Seconds to_seconds(Duration d) { return Seconds(static_cast<double>(d.ps) * 1e-12); }

}  // namespace foretoken::des
