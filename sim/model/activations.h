// Bytes of activations that one layer keeps for its backward pass.
#pragma once

#include <string_view>

#include "sim/base/units.h"
#include "sim/model/layer_ops.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Recomputation as Megatron knows it (recompute-granularity, recompute-modules).
enum class RecomputeGranularity : std::uint8_t { kNone, kSelective, kFull };
[[nodiscard]] std::string_view name_of(RecomputeGranularity granularity);  ///< as scenarios spell it

/// Modules that selective recomputation repeats; core attention is the usual one.
struct SelectiveModules {
  bool core_attention = true;
  bool mlp = false;
  bool layer_norm = false;
  bool activation = false;
};

/// Bytes stored per layer and micro-batch on one GPU. Dropout masks count where the model's dropout is above 0.
/// Unfused attention: term by term section 4 of arXiv:2205.05198, which for its GPT shapes is Table 2 exactly; flash
/// attention: what Transformer Engine's modules save, with the norms' statistics and the log-sum-exp of the softmax.
[[nodiscard]] Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context,
                                           RecomputeGranularity granularity, SelectiveModules modules = {});

/// What the embedding stores per micro-batch (dropout mask, token ids).
[[nodiscard]] Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context);

/// What final norm, head and loss store per micro-batch until their backward pass: input and output of the norm, and
/// of the cross entropy the fp32 softmax or, fused, the gradient of the logits in 16 bits.
[[nodiscard]] Bytes head_activation_bytes(const Transformer& model, const LayerContext& context);

/// Short-lived bytes on top of the stored ones: the largest of a layer's backward pass, without recomputation.
[[nodiscard]] Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context);

/// The same when the layer recomputes: what it recomputes is alive beside its gradients. `kFull` here means that the
/// layer's own input is all that was stored.
[[nodiscard]] Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context,
                                                   RecomputeGranularity granularity, SelectiveModules modules = {});

/// Short-lived bytes of head and loss on top of head_activation_bytes: the 16-bit logits beside their fp32 copy, or in
/// the head's backward pass its input's gradient, its gathered input and its weights' gradient, whichever is larger.
[[nodiscard]] Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context);

/// The tensor sent between stages, per micro-batch.
[[nodiscard]] Bytes boundary_bytes(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
