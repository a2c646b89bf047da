// Quantities with units: a number of seconds is not a number of bytes, and the compiler knows it.
#pragma once

#include <compare>
#include <cstdint>

namespace foretoken {

/// A number with a unit. It adds to, and compares with, its own kind only. The value is in the unit of its name.
template <class Unit>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}
  [[nodiscard]] constexpr double value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(k * a.value_); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.value_ / k); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }

 private:
  double value_ = 0;
};

using Seconds = Quantity<struct SecondsUnit>;
using Bytes = Quantity<struct BytesUnit>;
using Flop = Quantity<struct FlopUnit>;  ///< a count of operations (a multiply-add is two), never a rate
using BytesPerSecond = Quantity<struct BytesPerSecondUnit>;
using FlopPerSecond = Quantity<struct FlopPerSecondUnit>;

constexpr Seconds operator/(Bytes n, BytesPerSecond r) { return Seconds(n.value() / r.value()); }
constexpr Seconds operator/(Flop n, FlopPerSecond r) { return Seconds(n.value() / r.value()); }
constexpr BytesPerSecond operator/(Bytes n, Seconds t) { return BytesPerSecond(n.value() / t.value()); }
constexpr FlopPerSecond operator/(Flop n, Seconds t) { return FlopPerSecond(n.value() / t.value()); }

constexpr Seconds microseconds(double us) { return Seconds(us * 1e-6); }
constexpr BytesPerSecond gigabytes_per_second(double gb) { return BytesPerSecond(gb * 1e9); }
constexpr FlopPerSecond teraflops(double t) { return FlopPerSecond(t * 1e12); }

inline constexpr double kMiB = 1024.0 * 1024, kGiB = 1024 * kMiB;  ///< bytes

/// A count to calculate with.
constexpr double real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace foretoken
