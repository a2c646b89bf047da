// Writes one line of plain text per part of a profile: its source and its error.
#pragma once

#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

[[nodiscard]] std::vector<std::string> notes_of(const cost::Profile& profile);

}  // namespace foretoken::fit
