// One line of plain text per part of a profile: where it comes from and how far off it is.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

[[nodiscard]] std::vector<std::string> notes_of(const cost::Profile& profile);

}  // namespace foretoken::fit
