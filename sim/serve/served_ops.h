// The kernels of a layer and of the head as engines of inference run them, derived from the blocks of training.
#pragma once

#include "sim/model/block.h"
#include "sim/model/layer_ops.h"
#include "sim/model/transformer.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// Returns the kernels of a layer's forward pass without its attention core, which depends on more than tokens. Where
/// all ranks of a stage hold the same tokens, experts need no exchange: their outputs are summed over the ranks.
[[nodiscard]] model::OpList served_layer(const model::BlockOps& block, const model::LayerContext& context,
                                         const model::Transformer& model, const Degrees& degrees);

/// Returns final norm and projection of one token a sequence, and the gather of its logits. There is no loss.
[[nodiscard]] model::OpList served_head(const model::Transformer& model, const model::LayerContext& context);

}  // namespace foretoken::serve
