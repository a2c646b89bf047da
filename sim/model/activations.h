// Bytes of activations that one layer keeps for its backward pass.
#pragma once

#include "sim/base/units.h"
#include "sim/model/layer_ops.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Recomputation as Megatron knows it (recompute-granularity, recompute-modules).
enum class RecomputeGranularity : std::uint8_t { kNone, kSelective, kFull };

/// Modules that selective recomputation repeats; core attention is the usual one.
struct SelectiveModules {
  bool core_attention = true;
  bool mlp = false;
  bool layer_norm = false;
  bool activation = false;
};

/// Bytes stored per layer and micro-batch on one GPU. Unfused attention: exactly Table 2 of arXiv:2205.05198 (for its
/// GPT shapes with dropout); flash attention: facts of Transformer Engine modules.
[[nodiscard]] Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context,
                                           RecomputeGranularity granularity, SelectiveModules modules = {});

/// What the embedding stores per micro-batch (dropout mask, token ids).
[[nodiscard]] Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context);

/// What final norm, head and loss store per micro-batch until their backward pass.
[[nodiscard]] Bytes head_activation_bytes(const Transformer& model, const LayerContext& context);

/// Short-lived bytes on top of the stored ones: the largest of a layer's backward pass.
[[nodiscard]] Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context);

/// Short-lived bytes of the loss: logits, their fp32 copy or gradient, the gathered head input.
[[nodiscard]] Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context);

/// The tensor sent between stages, per micro-batch.
[[nodiscard]] Bytes boundary_bytes(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
