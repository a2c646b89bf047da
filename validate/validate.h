// Runs the whole validation: predicts published measurements, and compares the errors with their bounds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/bounds.h"
#include "validate/evaluate.h"
#include "validate/intervals.h"

namespace foretoken::validate {

struct Validation {
  std::vector<SetResult> sets;
  std::vector<std::string> broken;     ///< one sentence for each broken bound
  std::optional<Intervals> intervals;  ///< when every row of every set was run
};

/// Runs the named sets, or all when none is named, on one core, in order. `stride` > 1 takes every n-th row and checks
/// no bounds. Throws ConfigError.
[[nodiscard]] Validation run_validation(const std::vector<std::string>& sets = {}, std::size_t stride = 1);

// These functions write it. Text has at most 100 columns.
[[nodiscard]] std::string as_text(const Validation& validation, std::size_t worst_rows = 3);
[[nodiscard]] std::string as_json(const Validation& validation);
[[nodiscard]] std::string as_html(const Validation& validation);  ///< one page that needs no other file
[[nodiscard]] std::string as_csv(const Validation& validation);   ///< a line for each comparison

/// Returns the generated files by path: docs/modeller/validation.md, its plots, and the residuals behind intervals.
/// Precondition: every row of every set was run.
[[nodiscard]] std::map<std::string, std::string> as_pages(const Validation& validation);

}  // namespace foretoken::validate
