// The parallel axes: the ways in which a job spreads its work over GPUs.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace foretoken {

/// A way to split the work. Dense layers use tensor, context and data. Experts use expert-tensor, expert and
/// expert-data over the same ranks. Both share the pipeline axis.
enum class Axis : std::uint8_t { kTensor, kContext, kExpertTensor, kExpert, kPipeline, kData, kExpertData };

/// Every axis with its word in keys, names and reports.
inline constexpr std::array kAxisNames{std::pair{Axis::kTensor, std::string_view("tensor")},
                                       std::pair{Axis::kContext, std::string_view("context")},
                                       std::pair{Axis::kExpertTensor, std::string_view("expert_tensor")},
                                       std::pair{Axis::kExpert, std::string_view("expert")},
                                       std::pair{Axis::kPipeline, std::string_view("pipeline")},
                                       std::pair{Axis::kData, std::string_view("data")},
                                       std::pair{Axis::kExpertData, std::string_view("expert_data")}};
inline constexpr std::size_t kAxes = kAxisNames.size();

constexpr std::string_view name_of(Axis axis) { return kAxisNames[static_cast<std::size_t>(axis)].second; }

inline constexpr std::size_t kAxisSets = std::size_t{1} << kAxes;

/// The names that people who train write before a degree: "TP8".
constexpr std::string_view short_name_of(Axis axis) {
  constexpr std::array<std::string_view, kAxes> kShort{"TP", "CP", "ETP", "EP", "PP", "DP", "EDP"};
  return kShort[static_cast<std::size_t>(axis)];
}

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
  [[nodiscard]] constexpr std::size_t count() const { return static_cast<std::size_t>(std::popcount(bits_)); }
  /// To index a table of kAxisSets entries, and back.
  [[nodiscard]] constexpr std::size_t index() const { return bits_; }
  [[nodiscard]] static constexpr AxisSet at(std::size_t index) {
    AxisSet set;
    set.bits_ = static_cast<unsigned>(index);
    return set;
  }
  friend constexpr AxisSet operator|(AxisSet a, AxisSet b) { return at(a.bits_ | b.bits_); }
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) { return at(a.bits_ & b.bits_); }
  friend constexpr auto operator<=>(AxisSet, AxisSet) = default;

 private:
  static constexpr unsigned bit(Axis axis) { return 1U << static_cast<unsigned>(axis); }
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

/// The product of the degrees of `axes`: the ranks that differ in these and in no other.
[[nodiscard]] constexpr int product(const PerAxis<int>& degrees, AxisSet axes) {
  int ranks = 1;
  for (const auto& [axis, name] : kAxisNames)
    if (axes.contains(axis)) ranks *= degrees[axis];
  return ranks;
}

}  // namespace foretoken
