// Converts model time to the engine's clock.
#pragma once

#include "sim/base/units.h"
#include "sim/des/time.h"

namespace foretoken::step {

/// Converts times that a question may lead to, as des::to_duration does. An operation of more than ten days is the
/// user's mistake (ConfigError), not ours.
[[nodiscard]] des::Duration duration_of(Seconds time);

}  // namespace foretoken::step
