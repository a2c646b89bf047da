// Describes a profile in words: the source of every part and its errors on samples that the fit did not use.
#pragma once

#include <string>

#include "sim/cost/profile.h"
#include "sim/report/text/layout.h"

namespace foretoken::tools {

/// Writes a row for each law: provenance, samples, held-out median, p90 and worst error, and the number of its source.
[[nodiscard]] std::string profile_page(const cost::Profile& profile, const report::Paint& paint);

}  // namespace foretoken::tools
