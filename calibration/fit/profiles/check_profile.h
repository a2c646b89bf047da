// Measures the errors of a profile on measured tables, for `foretoken calibrate check`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/kernels/decode_attention.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Errors of some rows, as parts of the measured time.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0, p90 = 0;  ///< of |predicted / measured - 1|
  double bias = 0;             ///< median of predicted / measured - 1
};

/// The rows of one kind and size.
struct ErrorClass {
  std::string kind;  ///< "products bf16", "attention forward causal fp8 d128", "deepep dispatch across nodes",
                     ///< "decode attention bf16 d128", "experts fp8_block by deepgemm"
  std::string size;  ///< "m, n, k >= 1024", "seq >= 2048", ">= 1 MB"
  ErrorSummary errors{};
};

struct ProfileCheck {
  std::map<Precision, ErrorSummary> precisions{};  ///< products with m, n, k >= 1024
  std::vector<ErrorClass> classes{};               ///< by kind, large sizes first
  std::vector<std::string> left_out{};             ///< kinds for which the profile has no law
};

/// Compares the profile with samples of brief benchmarks. Predictions therefore leave out the sustained factors. They
/// count in part for published kernels of more than 0.5 ms, which lower the clock themselves. Predictions include the
/// quantisation or the writing of a cache that a row's time includes. Exchanges of
/// tokens are large where all copies that a rank sends have 1 MB. Collectives run on an eight-GPU node with the
/// profile's links. Decode attention and small all-reduces need the laws of serving beside the profile.
[[nodiscard]] ProfileCheck check_profile(const cost::Profile& profile, const measured::Samples& samples,
                                         const cost::ServingLaws* serving = nullptr);

/// Returns the profile of brief runs: without sustained factors.
[[nodiscard]] cost::Profile of_brief_runs(cost::Profile profile);

/// Sums up the errors. Precondition: every number is above 0.
[[nodiscard]] ErrorSummary summarised(const std::vector<double>& predicted_over_measured);

}  // namespace foretoken::fit
