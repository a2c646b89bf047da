// Writes a capacity plan as text and as JSON.
#pragma once

#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/plan/plan.h"

namespace foretoken::tools {

[[nodiscard]] std::string plan_text(const study::Plan& plan, const report::Paint& paint);
[[nodiscard]] std::string plan_json(const study::Plan& plan);

}  // namespace foretoken::tools
