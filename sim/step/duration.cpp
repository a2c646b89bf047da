// Converts model time to the engine's clock.
#include "sim/step/duration.h"

#include "sim/base/error.h"

namespace foretoken::step {

des::Duration duration_of(Seconds time) {
  constexpr double kLongest = 10 * 86400.0;
  if (!(time.value() <= kLongest))
    throw ConfigError({{"", "",
                        "one operation would last more than ten days; expected batch, sequence, model and "
                        "bandwidths of a real job"}});
  return des::to_duration(time);
}

}  // namespace foretoken::step
