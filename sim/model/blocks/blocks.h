// The kinds of layers that a model is a stack of.
#pragma once

#include "sim/model/block.h"
#include "sim/model/stacks/kinds.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// A decoder layer: norm, attention, residual, norm, MLP, residual. A parallel residual puts attention and MLP side by
/// side.
[[nodiscard]] BlockOps dense_layer(const Transformer& model, const LayerContext& context);

/// A decoder layer of a kind: with experts in place of the MLP, or with attention that is local.
[[nodiscard]] BlockOps decoder_layer(const Transformer& model, const LayerContext& context, const LayerKind& kind);

/// A layer of one half of an encoder-decoder. The encoder's last layer ends with the encoder's norm. The decoder's
/// first layer begins with the embedding of its tokens. Precondition: the kind names a half.
[[nodiscard]] BlockOps half_layer(const Transformer& model, const LayerContext& context, const LayerKind& kind);

/// Token table, positions and dropout, before the first layer.
[[nodiscard]] BlockOps embedding_block(const Transformer& model, const LayerContext& context);

/// Final norm, output projection and loss, after the last layer.
[[nodiscard]] BlockOps head_block(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
