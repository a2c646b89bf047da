// Chooses the samples that a fit leaves out, and sums up the errors of a law on them.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Returns true when the sample with this key stays out of the fit: one in five, the same on every machine (FNV-1a).
[[nodiscard]] bool held_out(std::string_view key);

/// Predicted and measured seconds of one sample.
struct Outcome {
  double predicted = 0, measured = 0;
  [[nodiscard]] double log_error() const { return std::abs(std::log(predicted / measured)); }
};

/// Returns the mean |log(predicted / measured)|, which fits minimise. It is robust against single bad rows.
[[nodiscard]] double mean_log_error(const std::vector<Outcome>& outcomes);

/// Returns the median of absolute errors in logarithms, and a third of their mean, in which none counts more than 1.
/// Tables have shapes that a kernel was not tuned for, and the median does not follow them.
[[nodiscard]] double median_misfit(std::vector<double> log_errors);

/// Returns rows at equal distances, at most `most`.
template <class Row>
[[nodiscard]] std::vector<Row> thinned(const std::vector<Row>& rows, std::size_t most) {
  const std::size_t stride = (rows.size() + most - 1) / most;
  std::vector<Row> few;
  for (std::size_t i = 0; i < rows.size(); i += stride) few.push_back(rows[i]);
  return few;
}

/// Returns the evidence of a law fitted on `samples` published samples, with `left_out` held out.
[[nodiscard]] cost::Evidence evidence(std::string source, std::size_t samples, const std::vector<Outcome>& left_out);

/// Returns the evidence of a law that was taken from another GPU.
[[nodiscard]] cost::Evidence scaled_from(std::string gpu, std::string source);
/// Returns the evidence of a law that nothing measured.
[[nodiscard]] cost::Evidence assumed(std::string source);

/// Rounds to `digits` significant decimal digits, so that profiles stay readable.
[[nodiscard]] double rounded(double value, int digits = 4);

}  // namespace foretoken::fit
