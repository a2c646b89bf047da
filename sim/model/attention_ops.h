// The attention core of a layer: fused or not, and exchanged over context-parallel ranks.
#pragma once

#include "sim/model/layer_cut.h"
#include "sim/model/op_list.h"

namespace foretoken::model {

void core_forward(OpWriter& ops, const Cut& cut);
void core_backward(OpWriter& ops, const Cut& cut);

}  // namespace foretoken::model
