// The door from model time to the engine's clock.
#pragma once

#include "sim/base/units.h"
#include "sim/des/time.h"

namespace foretoken::step {

/// des::to_duration for times that a question may ask for. An operation of more than ten days is the user's mistake
/// (ConfigError), not ours.
[[nodiscard]] des::Duration duration_of(Seconds time);

}  // namespace foretoken::step
