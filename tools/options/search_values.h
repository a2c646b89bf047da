// Option values of searches: sizes, objectives and schedules.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/study/search/ranking.h"

namespace foretoken::tools {

/// Reads sizes: "512", "512,1024", "256:4096:x2" (doubling) or "256:1024:256" (in steps of 256). Throws ConfigError
/// that names `option` and what it counts: "--batch", "requests".
[[nodiscard]] std::vector<int> parse_sizes(const char* option, const char* things, const std::string& text);
/// Reads sizes of clusters.
[[nodiscard]] std::vector<int> parse_gpus(const std::string& text);
/// Reads "step-time", "cost", "gpus" or "memory". Throws ConfigError that names `option`.
[[nodiscard]] search::Objective parse_objective(const std::string& text, const char* option = "--objective");
/// Reads two objectives: "step-time,memory". Throws ConfigError.
[[nodiscard]] std::array<search::Objective, 2> parse_axes(const std::string& text);
/// Reads names of schedules ("interleaved" is interleaved-1f1b), or "all". Throws ConfigError.
[[nodiscard]] std::vector<std::string> parse_schedules(const std::vector<std::string>& names);

}  // namespace foretoken::tools
