// Bounds on the errors of each set (validate/bounds.json). A set that gets worse than its bound fails the tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "validate/evaluate.h"

namespace foretoken::validate {

/// The largest absolute errors allowed, as fractions.
struct QuantityBound {
  double mean = 0, worst = 0;
};

struct SetBound {
  std::map<Quantity, QuantityBound> errors;
  double tau = -1;  ///< Kendall's tau must reach this
  int false_out_of_memory = 0;
};

/// The bounds by name of the set.
using Bounds = std::map<std::string, SetBound>;

/// Reads the shipped bounds. Throws ConfigError.
[[nodiscard]] Bounds read_bounds(const std::filesystem::path& file);

/// Returns one sentence for every bound that `result` breaks, and for every set or quantity without a bound.
[[nodiscard]] std::vector<std::string> broken_bounds(const SetResult& result, const Bounds& bounds);

}  // namespace foretoken::validate
