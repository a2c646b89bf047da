// The ways in which a job spreads its work over GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace foretoken {

/// A way to split the work. Dense layers use tensor, context and data. Experts use expert-tensor, expert and
/// expert-data over the same ranks. Both share the pipeline axis.
enum class Axis : std::uint8_t { kTensor, kContext, kExpertTensor, kExpert, kData, kExpertData, kPipeline };

/// Every axis with its word in keys, names and reports.
inline constexpr std::array kAxisNames{std::pair{Axis::kTensor, std::string_view("tensor")},
                                       std::pair{Axis::kContext, std::string_view("context")},
                                       std::pair{Axis::kExpertTensor, std::string_view("expert_tensor")},
                                       std::pair{Axis::kExpert, std::string_view("expert")},
                                       std::pair{Axis::kData, std::string_view("data")},
                                       std::pair{Axis::kExpertData, std::string_view("expert_data")},
                                       std::pair{Axis::kPipeline, std::string_view("pipeline")}};
inline constexpr std::size_t kAxes = kAxisNames.size();

constexpr std::string_view name_of(Axis axis) { return kAxisNames[static_cast<std::size_t>(axis)].second; }

/// A set of axes: the ranks of a group differ in these and in no other.
class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(Axis axis) : bits_(bit(axis)) {}  // NOLINT(google-explicit-constructor): one axis is a set
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const Axis axis : axes) bits_ |= bit(axis);
  }
  [[nodiscard]] constexpr bool contains(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  [[nodiscard]] constexpr bool contains(AxisSet others) const { return (bits_ & others.bits_) == others.bits_; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend constexpr AxisSet operator|(AxisSet a, AxisSet b) { return from_bits(a.bits_ | b.bits_); }
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) { return from_bits(a.bits_ & b.bits_); }
  friend constexpr auto operator<=>(AxisSet, AxisSet) = default;

 private:
  static constexpr unsigned bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
  static constexpr AxisSet from_bits(unsigned bits) {
    AxisSet set;
    set.bits_ = bits;
    return set;
  }
  unsigned bits_ = 0;
};

/// One T for every axis.
template <class T>
class PerAxis {
 public:
  constexpr PerAxis() = default;
  /// Gives `rest` to every axis that `stated` does not name.
  constexpr explicit PerAxis(const T& rest, std::initializer_list<std::pair<Axis, T>> stated = {}) {
    values_.fill(rest);
    for (const auto& [axis, value] : stated) (*this)[axis] = value;
  }
  [[nodiscard]] constexpr T& operator[](Axis axis) { return values_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] constexpr const T& operator[](Axis axis) const { return values_[static_cast<std::size_t>(axis)]; }
  friend constexpr auto operator<=>(const PerAxis&, const PerAxis&) = default;
  friend constexpr bool operator==(const PerAxis&, const PerAxis&) = default;

 private:
  std::array<T, kAxes> values_{};
};

}  // namespace foretoken
