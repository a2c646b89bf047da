// Writes the answer of `foretoken whatif` as text, as JSON and as CSV.
#pragma once

#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/otherwise/whatif.h"

namespace foretoken::tools {

[[nodiscard]] std::string whatif_text(const study::WhatIf& whatif, const report::Paint& paint);
[[nodiscard]] std::string whatif_json(const study::WhatIf& whatif);
/// Writes one line for each row, the base first.
[[nodiscard]] std::string whatif_csv(const study::WhatIf& whatif);
[[nodiscard]] std::string tornado_csv(const study::WhatIf& whatif);  ///< a line for each hardware property

}  // namespace foretoken::tools
