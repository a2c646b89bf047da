// Several services side by side: the answer of `foretoken whatif` and `foretoken compare` about a service.
#pragma once

#include <string>

#include "sim/report/text/layout.h"
#include "sim/study/serve/vary_service.h"

namespace foretoken::tools {

[[nodiscard]] std::string vary_service_text(const study::VariedService& varied, const report::Paint& paint);
[[nodiscard]] std::string vary_service_json(const study::VariedService& varied);
/// Writes one line for each row, the base first.
[[nodiscard]] std::string vary_service_csv(const study::VariedService& varied);

}  // namespace foretoken::tools
