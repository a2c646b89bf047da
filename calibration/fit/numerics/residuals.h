// Which samples are held out, and how well a law does on them.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Whether the sample with this key stays out of the fit: one in five, the same ones on every machine (FNV-1a).
[[nodiscard]] bool held_out(std::string_view key);

/// Predicted and measured seconds of one sample.
struct Outcome {
  double predicted = 0, measured = 0;
  [[nodiscard]] double log_error() const { return std::abs(std::log(predicted / measured)); }
};

/// Mean |log(predicted / measured)|: what fits minimise, robust against single bad rows.
[[nodiscard]] double mean_log_error(const std::vector<Outcome>& outcomes);

/// The evidence of a law fitted on `samples` published samples with `apart` held out.
[[nodiscard]] cost::Evidence evidence(std::string source, std::size_t samples, const std::vector<Outcome>& apart);

/// What a law rests on that was taken from another GPU.
[[nodiscard]] cost::Evidence scaled_from(std::string gpu, std::string source);
/// What a law rests on that nothing measured.
[[nodiscard]] cost::Evidence assumed(std::string source);

/// Rounded to `digits` significant decimal digits, so that profiles stay readable.
[[nodiscard]] double rounded(double value, int digits = 4);

}  // namespace foretoken::fit
