// Refuses steps that the engine's clock cannot hold.
#include "sim/des/time.h"

#include "sim/base/error.h"

namespace foretoken::des {

void refuse_endless_step() {
  throw ConfigError({{"", "",
                      "the step would last for months; expected batch, sequence, model and bandwidths of a real "
                      "job"}});
}

}  // namespace foretoken::des
