// The request of a search.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/scenario/open_scenario.h"
#include "sim/study/search/searcher.h"

namespace foretoken::study {

/// Everything that the answer of a search depends on, and nothing else.
struct SearchRequest {
  std::string question;  ///< JSON of the open scenario
  std::string inputs;    ///< digest of the files behind it: names alone do not say what they hold
  search::SpaceOptions space;
  search::Objective objective = search::Objective::kStepTime;
  std::array<search::Objective, 2> axes{search::Objective::kStepTime, search::Objective::kMemory};
  std::size_t top = 10;
  bool require_fit = true;
  std::string program = {};  ///< its version
};

/// Returns the overrides that leave open every key that a search chooses without a request: "parallelism.tensor=null",
/// and so on.
[[nodiscard]] std::vector<std::string> all_keys_free();

/// Returns the keys that `free` frees: itself, or all those below it ("parallelism"). Empty: it can free none.
[[nodiscard]] std::vector<job::Key> keys_freed_by(std::string_view free);

/// Returns every key that can be freed, in words: "parallelism.tensor, ..., overlap.p2p; precision and ... change the
/// numbers of a training".
[[nodiscard]] std::string freeable_keys();

/// Throws ConfigError when a freed key is an overlap that the question's runtime cannot switch.
void expect_switches(const job::Question& question, std::span<const std::string> frees);

/// Returns the request as one line of JSON, without a newline.
[[nodiscard]] std::string to_json(const SearchRequest& request);

}  // namespace foretoken::study
