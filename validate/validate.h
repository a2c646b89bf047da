// The whole validation: published measurements predicted, compared and held against their bounds.
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
  std::vector<std::string> broken;     ///< one sentence for each bound that does not hold
  std::optional<Intervals> intervals;  ///< when every row of every set was run
};

/// Runs the named sets (none named: all) on one core, in order. `stride` > 1 takes every n-th row and checks no bounds.
/// Throws ConfigError.
[[nodiscard]] Validation run_validation(const std::vector<std::string>& sets = {}, std::size_t stride = 1);

// Writers, at most 100 columns of text.
[[nodiscard]] std::string as_text(const Validation& validation, std::size_t worst_rows = 3);
[[nodiscard]] std::string as_json(const Validation& validation);
[[nodiscard]] std::string as_html(const Validation& validation);  ///< one page that needs no other file
[[nodiscard]] std::string as_csv(const Validation& validation);   ///< a line for each comparison

/// The generated files by path: docs/modeller/validation.md, the plots it shows, and the residuals behind intervals.
/// Precondition: every row of every set was run.
[[nodiscard]] std::map<std::string, std::string> as_pages(const Validation& validation);

}  // namespace foretoken::validate
