// A profile in words: every part with where it comes from and how well it meets what it never saw.
#pragma once

#include <string>

#include "sim/cost/profile.h"
#include "sim/report/text/layout.h"

namespace foretoken::tools {

/// A row for each law: provenance, samples, held-out median, p90 and worst error, and the number of its source below.
[[nodiscard]] std::string profile_page(const cost::Profile& profile, const report::Paint& paint);

}  // namespace foretoken::tools
