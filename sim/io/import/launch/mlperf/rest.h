// Lists the variables of a submission that no rule maps.
#pragma once

#include "sim/io/import/launch/mlperf/variables.h"

namespace foretoken::io::launch::mlperf {

/// Puts every variable of the scripts into the answer that no line names: as ignored, as taken otherwise, or refused.
/// Of the defaults only those count that move tensors or shard in a way that is not read.
void list_rest(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::mlperf
