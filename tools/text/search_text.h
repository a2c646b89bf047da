// Writes the answer of a search as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/search/answer.h"

namespace foretoken::tools {

/// Returns every overlap that the candidate's model can have with its switch: {"grad_reduce": true, ...}.
[[nodiscard]] nlohmann::ordered_json overlap_json(const search::Candidate& candidate, const job::Overlap& overlap);
/// Returns the keys that only some configurations have: a group of micro-batches, a precision, 16-bit gradients.
[[nodiscard]] nlohmann::ordered_json more_keys_json(const search::Candidate& candidate);
/// Writes a configuration, its memory and its step time with the keys of docs/user/search.md.
[[nodiscard]] nlohmann::ordered_json configuration_json(const study::FoundConfiguration& found);

[[nodiscard]] std::string search_text(const study::SearchAnswer& answer, const report::Paint& paint);
[[nodiscard]] std::string search_json(const study::SearchAnswer& answer);

}  // namespace foretoken::tools
