// Runs the whole validation: predicts published measurements, and compares the errors with their bounds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/text/layout.h"
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
/// no bounds. Work that is stopped gives the rows that are done, and checks no bounds of a set that lacks some. Throws
/// ConfigError.
[[nodiscard]] Validation run_validation(const std::vector<std::string>& sets = {}, std::size_t stride = 1,
                                        const Watch& watch = {});

// These functions write it.
[[nodiscard]] std::string as_text(const Validation& validation, std::size_t worst_rows = 3,
                                  const report::Paint& paint = report::Paint(false));
[[nodiscard]] std::string as_json(const Validation& validation);
[[nodiscard]] std::string as_html(const Validation& validation);  ///< one page that needs no other file
[[nodiscard]] std::string as_csv(const Validation& validation);   ///< a line for each comparison

/// Returns the generated files by path: docs/modeller/validation.md, its plots, and the residuals behind intervals.
/// Precondition: every row of every set was run.
[[nodiscard]] std::map<std::string, std::string> as_pages(const Validation& validation);

}  // namespace foretoken::validate
