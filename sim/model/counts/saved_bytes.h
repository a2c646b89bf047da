// Bytes of activations that blocks keep for their backward pass, per micro-batch on one GPU.
#pragma once

#include "sim/base/units.h"
#include "sim/model/block.h"

namespace foretoken::model {

/// Bytes that one block stores per micro-batch on one GPU. Every tensor that an op saves counts once; recomputed
/// tensors do not count. Under full recomputation only the block's input is stored.
[[nodiscard]] Bytes saved_bytes(const BlockOps& block, RecomputeGranularity granularity, SelectiveModules modules = {});

/// Short-lived bytes on top of the stored ones, at the worst moment of the block's backward pass. Recomputed tensors
/// are alive beside the gradients. Under full recomputation the stored bytes are the block's own input.
[[nodiscard]] Bytes working_bytes(const BlockOps& block, RecomputeGranularity granularity,
                                  SelectiveModules modules = {});

/// Bytes of one micro-batch that the products of a block keep between both parts of a split backward pass: the input
/// and the output gradient of every product with a weight gradient. `backward` lists the kernels of its backward pass.
/// For a whole GPT layer of arXiv:2401.10241 they are 32 s b h. An input that `tensor` ranks gather again for the
/// weight gradient is kept in parts.
[[nodiscard]] Bytes bytes_for_weight_gradients(const OpList& backward, int tensor);

/// Bytes of the tensor sent between stages, per micro-batch.
[[nodiscard]] Bytes boundary_bytes(const Transformer& model, const LayerContext& context);

/// Stored and short-lived bytes of one dense layer.
///   unfused attention  term by term section 4 of arXiv:2205.05198; for its GPT shapes exactly Table 2
///   flash attention    the tensors that Transformer Engine's modules save, with the norms' statistics and the
///   log-sum-exp
///                      of the softmax
/// Dropout masks count where the model's dropout is above 0.
[[nodiscard]] Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context,
                                           RecomputeGranularity granularity, SelectiveModules modules = {});
[[nodiscard]] Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context,
                                                   RecomputeGranularity granularity, SelectiveModules modules = {});

/// Bytes that the embedding stores per micro-batch: dropout mask, token ids.
[[nodiscard]] Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context);

/// Bytes that final norm, head and loss store per micro-batch until their backward pass. The norm stores its input and
/// output. The cross entropy stores the fp32 softmax or, fused, the gradient of the logits in 16 bits.
[[nodiscard]] Bytes head_activation_bytes(const Transformer& model, const LayerContext& context);

/// Short-lived bytes of head and loss on top of head_activation_bytes: the larger of two moments. In the loss, the
/// 16-bit logits stand beside their fp32 copy. In the head's backward pass, the input's gradient, the gathered input
/// and the weights' gradient are alive.
[[nodiscard]] Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
