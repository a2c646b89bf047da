// Which parts of its profile a scenario reads.
#pragma once

#include "sim/cost/parts.h"
#include "sim/lowering/scenario.h"

namespace foretoken::lowering {

/// Precondition: model, cluster and parallelism of the scenario are complete.
[[nodiscard]] cost::Uses uses_of(const Scenario& scenario);

}  // namespace foretoken::lowering
