// Writes the answer of a search as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/search/answer.h"

namespace foretoken::tools {

/// Writes a configuration, its memory and its step time with the keys of docs/user/search.md.
[[nodiscard]] nlohmann::ordered_json configuration_json(const study::FoundConfiguration& found);

[[nodiscard]] std::string search_text(const study::SearchAnswer& answer, const report::Paint& paint);
[[nodiscard]] std::string search_json(const study::SearchAnswer& answer);

}  // namespace foretoken::tools
