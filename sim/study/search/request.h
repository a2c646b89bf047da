// What a search was asked, as text: options of the command line, and the first line of a result file.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "sim/io/scenario/open_scenario.h"
#include "sim/study/search/searcher.h"

namespace foretoken::study {

/// Everything that the answer depends on, and nothing else.
struct SearchRequest {
  std::string question;  ///< JSON of the open scenario
  search::SpaceOptions space;
  search::Objective objective = search::Objective::kStepTime;
  std::array<search::Objective, 2> axes{search::Objective::kStepTime, search::Objective::kMemory};
  std::size_t top = 10;
  bool require_fit = true;
};

/// "512", "512,1024", "256:4096:x2" (powers), "256:1024:256" (steps). Throws ConfigError.
[[nodiscard]] std::vector<int> parse_gpus(const std::string& text);
/// "step-time", "cost", "gpus" or "memory". Throws ConfigError.
[[nodiscard]] search::Objective parse_objective(const std::string& text, const char* option = "--objective");
/// "step-time,memory". Throws ConfigError.
[[nodiscard]] std::array<search::Objective, 2> parse_axes(const std::string& text);
/// Names of the catalogue ("interleaved" is interleaved-1f1b), or "all". Throws ConfigError.
[[nodiscard]] std::vector<std::string> parse_schedules(const std::vector<std::string>& names);

/// The overrides that leave open every key that a search can choose: "parallelism.tensor=null", and so on.
[[nodiscard]] std::vector<std::string> all_keys_free();

/// The request as one line of JSON, without a newline, and back. `from_json` throws ConfigError with `origin`.
[[nodiscard]] std::string to_json(const SearchRequest& request);
[[nodiscard]] SearchRequest request_from_json(const std::string& text, const std::string& origin);

}  // namespace foretoken::study
