// A profile as the JSON text of calibration/profiles/NAME.json.
#pragma once

#include <string>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Stable text: the same profile gives the same bytes.
[[nodiscard]] std::string to_json_text(const cost::Profile& profile);

}  // namespace foretoken::fit
