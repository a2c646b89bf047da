// Writes parts of the answer of `foretoken simulate`.
#pragma once

#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/report/metrics.h"
#include "sim/report/text/summary.h"

namespace foretoken::tools {

/// Writes the main figures of a step as a line of columns and a line of values. Every scenario has the same columns.
[[nodiscard]] std::string simulate_csv(const report::Metrics& metrics);

/// Writes an error as one line of JSON: {"error", "complaints"}.
[[nodiscard]] std::string complaints_json(const ConfigError& error);

/// Returns the commands to run after a prediction. `asked` repeats its question: "gpt3.json --set a=b", or the options
/// that state it. `has_file` is true when the question names a scenario.
[[nodiscard]] std::vector<report::Hint> next_commands(const std::string& asked, bool has_file,
                                                      const report::Metrics& metrics);

}  // namespace foretoken::tools
