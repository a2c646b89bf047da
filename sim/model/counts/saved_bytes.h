// Bytes of activations that blocks keep for their backward pass.
#pragma once

#include "sim/base/units.h"
#include "sim/model/block.h"

namespace foretoken::model {

/// Bytes that one block stores per micro-batch on one GPU: every tensor that an op saves, once, but for what
/// recomputation makes again. Under full recomputation the block's input is all.
[[nodiscard]] Bytes saved_bytes(const BlockOps& block, RecomputeGranularity granularity, SelectiveModules modules = {});

/// Short-lived bytes on top of the stored ones: the largest of the block's backward pass. Recomputed tensors are alive
/// beside the gradients. Under full recomputation the block's own input is all that was stored.
[[nodiscard]] Bytes working_bytes(const BlockOps& block, RecomputeGranularity granularity,
                                  SelectiveModules modules = {});

/// The tensor sent between stages, per micro-batch.
[[nodiscard]] Bytes boundary_bytes(const Transformer& model, const LayerContext& context);

/// Of one dense layer. Unfused attention: term by term section 4 of arXiv:2205.05198, which for its GPT shapes is
/// Table 2 exactly; flash attention: what Transformer Engine's modules save, with the norms' statistics and the
/// log-sum-exp of the softmax. Dropout masks count where the model's dropout is above 0.
[[nodiscard]] Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context,
                                           RecomputeGranularity granularity, SelectiveModules modules = {});
[[nodiscard]] Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context,
                                                   RecomputeGranularity granularity, SelectiveModules modules = {});

/// Bytes that the embedding stores per micro-batch: dropout mask, token ids.
[[nodiscard]] Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context);

/// Bytes that final norm, head and loss store per micro-batch until their backward pass: input and output of the norm,
/// and of the cross entropy the fp32 softmax or, fused, the gradient of the logits in 16 bits.
[[nodiscard]] Bytes head_activation_bytes(const Transformer& model, const LayerContext& context);

/// Short-lived bytes of head and loss on top of head_activation_bytes: the 16-bit logits beside their fp32 copy, or in
/// the head's backward pass its input's gradient, its gathered input and its weights' gradient, whichever is larger.
[[nodiscard]] Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
