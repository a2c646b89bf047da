// Writes a capacity plan as text, JSON and CSV.
#pragma once

#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/plan/plan.h"

namespace foretoken::tools {

[[nodiscard]] std::string plan_text(const study::Plan& plan, const report::Paint& paint);
[[nodiscard]] std::string plan_json(const study::Plan& plan);
[[nodiscard]] std::string plan_csv(const study::Plan& plan);  ///< a line for each row, without its scenario

}  // namespace foretoken::tools
