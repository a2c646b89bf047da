// Scales the curves inside a node to another link rate.
#pragma once

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// The law of GPUs whose links have another rate, in GB/s.
[[nodiscard]] cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const cost::Evidence& evidence);

}  // namespace foretoken::fit
