// The kinds of layers that models are stacked of.
#pragma once

#include "sim/model/block.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// A decoder layer: norm, attention, residual, norm, MLP, residual; or attention and MLP side by side.
[[nodiscard]] BlockOps dense_layer(const Transformer& model, const LayerContext& context);

/// Token table, positions and dropout, before the first layer.
[[nodiscard]] BlockOps embedding_block(const Transformer& model, const LayerContext& context);

/// Final norm, output projection and loss, behind the last layer.
[[nodiscard]] BlockOps head_block(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
