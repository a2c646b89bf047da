// The kernels of a block, derived from its ops.
#pragma once

#include "sim/model/block.h"

namespace foretoken::model {

/// Returns the kernels of the forward pass: the ops in order.
[[nodiscard]] OpList forward_kernels(const BlockOps& block, const LayerContext& context);

/// Returns the kernels of the backward pass without recomputation: the ops from the last to the first.
[[nodiscard]] OpList backward_kernels(const BlockOps& block, const LayerContext& context);

/// Returns the kernels of the forward pass that recomputation repeats before the backward pass.
[[nodiscard]] OpList recomputed_kernels(const BlockOps& block, const LayerContext& context,
                                        RecomputeGranularity granularity, SelectiveModules modules);

}  // namespace foretoken::model
