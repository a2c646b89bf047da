// A model that the user names in the place of the sizes that a file states.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/model/transformer.h"

namespace foretoken::io::launch {

/// Drops the lines about `stated`, the model of Megatron-LM's flags that the file has, after `named` has replaced it.
/// Refuses each size in which the two differ. Lines that come from the command line stay.
void settle_replaced_model(const Json& stated, const model::Transformer& named, Report& report);

}  // namespace foretoken::io::launch
