// The errors that validation may show today: validate/bounds.json; a set that gets worse than its bound fails the
// tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "validate/evaluate.h"

namespace foretoken::validate {

/// Largest absolute errors allowed, as fractions.
struct QuantityBound {
  double mean = 0, worst = 0;
};

struct SetBound {
  std::map<Quantity, QuantityBound> errors;
  double tau = -1;  ///< Kendall's tau must reach this
  int false_out_of_memory = 0;
};

/// By set name.
using Bounds = std::map<std::string, SetBound>;

/// The shipped bounds. Throws ConfigError.
[[nodiscard]] Bounds read_bounds(const std::filesystem::path& file);

/// One sentence for every bound that `result` breaks; a set or a quantity without a bound is one, too.
[[nodiscard]] std::vector<std::string> broken_bounds(const SetResult& result, const Bounds& bounds);

}  // namespace foretoken::validate
