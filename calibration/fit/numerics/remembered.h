// Remembers the values of an objective.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace foretoken::fit {

/// Values of an objective by the constants that its arguments make. Constants are rounded, so a simplex that collapses
/// tries the same ones again and again.
class Remembered {
 public:
  /// Returns the value of these constants, which `compute` gives the first time.
  template <class Compute>
  double operator()(const std::vector<double>& constants, const Compute& compute) {
    std::vector<std::uint64_t> key;
    key.reserve(constants.size());
    for (const double constant : constants) key.push_back(std::bit_cast<std::uint64_t>(constant));
    const auto [place, added] = values_.try_emplace(std::move(key));
    if (added) place->second = compute();
    return place->second;
  }

 private:
  std::map<std::vector<std::uint64_t>, double> values_;  // by bits: no constant, not even NaN, is unordered
};

}  // namespace foretoken::fit
