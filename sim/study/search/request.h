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
  std::string question = {};  ///< JSON of the open scenario
  std::string inputs = {};    ///< digest of the files behind it: names alone do not say what they hold
  search::SpaceOptions space = {};
  search::Objective objective = search::Objective::kStepTime;
  std::array<search::Objective, 2> axes{search::Objective::kStepTime, search::Objective::kMemory};
  std::size_t top = 10;
  bool require_fit = true;
  std::string program = {};  ///< its version
};

/// Returns the overrides that leave open every key that a search chooses without a request: "parallelism.tensor=null",
/// and so on. Keys without a choice stay (search::has_no_choice).
[[nodiscard]] std::vector<std::string> all_keys_free(const model::Transformer& model, const job::Runtime& runtime);

/// Returns the keys that `free` names: itself, or all those below it ("parallelism"). Empty: it can free none.
[[nodiscard]] std::vector<job::Key> keys_freed_by(std::string_view free);
/// Returns the overrides that leave them open, without keys that have no choice.
[[nodiscard]] std::vector<std::string> overrides_of_free(std::string_view free, const model::Transformer& model,
                                                         const job::Runtime& runtime);

/// Returns the name of every key that can be freed.
[[nodiscard]] std::vector<std::string> freeable_keys();

/// Throws ConfigError when a freed key has no choice: an overlap that the question's runtime cannot switch, or experts
/// of a dense model.
void expect_choices(const job::Question& question, std::span<const std::string> frees);

/// Returns the request as one line of JSON, without a newline.
[[nodiscard]] std::string to_json(const SearchRequest& request);

}  // namespace foretoken::study
