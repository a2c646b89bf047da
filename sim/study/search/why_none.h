// Explains why no configuration of a size can run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/io/scenario/open_scenario.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/space.h"

namespace foretoken::study {

/// Returns the reasons why no configuration of `gpus` GPUs is valid: rules that no choice of the open keys satisfies.
/// Precondition: none is valid.
[[nodiscard]] std::vector<Complaint> why_none_is_valid(const io::OpenScenario& question, search::SpaceOptions options,
                                                       int gpus);

/// Returns all reasons where `options` has one size, and the first reason of each size where it has several.
[[nodiscard]] std::vector<Complaint> why_none_is_valid(const io::OpenScenario& question,
                                                       const search::SpaceOptions& options);

/// Says that none of `count` valid configurations fits in memory; `smallest` needs least.
[[nodiscard]] std::string why_none_fits(std::size_t count, const FoundConfiguration& smallest);

}  // namespace foretoken::study
