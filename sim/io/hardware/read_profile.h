// Profiles: calibration/profiles/NAME.json.
#pragma once

#include "sim/cost/profile.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// The fitted costs of one GPU.
[[nodiscard]] cost::Profile read_profile(const Node& node);

}  // namespace foretoken::io
