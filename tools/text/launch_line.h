// The launch line of a configuration that a search or a plan has found.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/search/answer.h"

namespace foretoken::tools {

/// Returns the launch by the software of the runtime, or by Megatron-LM with a remark, and what it cannot say.
[[nodiscard]] std::string launch_line_text(const study::FoundConfiguration& found, const report::Paint& paint);

/// Returns {"format", "launch": text, "megatron": [flags], "remarks": [..], "lost": [{"key", "scenario", "launch"}],
/// "scenario": {..}}.
[[nodiscard]] nlohmann::ordered_json launch_line_json(const study::FoundConfiguration& found);

}  // namespace foretoken::tools
