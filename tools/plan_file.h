// Capacity plans as `foretoken plan --json` writes them, read back for a report.
#pragma once

#include <optional>
#include <string>

#include "sim/html/report_data.h"

namespace foretoken::tools {

struct PlanFile {
  html::Plan plan;
  std::string scenario;  ///< JSON of the option that a report is about
};

/// Reads `path` when it is a plan: a JSON object with "options". Nothing when it is something else, or no file. Throws
/// ConfigError when it is a plan with something wrong in it, or one without a possible option.
[[nodiscard]] std::optional<PlanFile> read_plan_file(const std::string& path);

}  // namespace foretoken::tools
