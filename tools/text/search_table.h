// The ranked list of a search as a table.
#pragma once

#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/search/answer.h"

namespace foretoken::tools {

/// Returns the configurations in their order, with a legend. A page that is too narrow loses the columns that matter
/// least, and says so. Precondition: the answer ranks some.
[[nodiscard]] std::string ranked_table(const study::SearchAnswer& answer, const report::Paint& paint);

}  // namespace foretoken::tools
