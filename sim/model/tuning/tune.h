// Turns the blocks of a model into the same blocks under fine-tuning.
//
// A block is written once, for training from scratch in 16 bits. With elements of 32 bits its tensors are twice as
// large. Under fine-tuning its weights are frozen, and trained ops are added between its ops. Kernels, saved bytes,
// gradients and states follow from the changed list.
#pragma once

#include "sim/model/block.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Returns a layer as the model's fine-tuning has it.
[[nodiscard]] BlockOps tuned_layer(BlockOps block, const Transformer& model, const LayerContext& context);
/// Returns the embedding likewise. Nothing below the lowest trained weight is kept or differentiated.
[[nodiscard]] BlockOps tuned_embedding(BlockOps block, const Transformer& model, const LayerContext& context);
/// Returns the head likewise.
[[nodiscard]] BlockOps tuned_head(BlockOps block, const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
