// Values that searches take on the command line: sizes, objectives and schedules.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/study/search/ranking.h"

namespace foretoken::tools {

/// Returns the sizes of "512", "512,1024", "256:4096:x2" (powers) or "256:1024:256" (steps). Throws ConfigError.
[[nodiscard]] std::vector<int> parse_gpus(const std::string& text);
/// Takes "step-time", "cost", "gpus" or "memory". Throws ConfigError that names `option`.
[[nodiscard]] search::Objective parse_objective(const std::string& text, const char* option = "--objective");
/// Takes two objectives, "step-time,memory". Throws ConfigError.
[[nodiscard]] std::array<search::Objective, 2> parse_axes(const std::string& text);
/// Takes names of the catalogue ("interleaved" is interleaved-1f1b), or "all". Throws ConfigError.
[[nodiscard]] std::vector<std::string> parse_schedules(const std::vector<std::string>& names);

}  // namespace foretoken::tools
