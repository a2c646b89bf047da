// Operations of a training step over one sequence, counted from the products and attention cores of blocks.
#pragma once

#include "sim/base/units.h"
#include "sim/model/block.h"
#include "sim/model/lengths.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::model {

/// Forward operations of the products of one block over one sequence: a multiply-add for each matrix element and token.
[[nodiscard]] double product_flop(const BlockOps& block, double sequence);
/// Like product_flop above, but only of the products that recomputation of `modules` repeats.
[[nodiscard]] double product_flop(const BlockOps& block, double sequence, SelectiveModules modules);
/// Forward operations of the block's attention cores: 2 s^2 a d for the scores and as many for the values.
[[nodiscard]] double core_flop(const BlockOps& block, double sequence);

/// Operations of one training step over one sample: forward and backward (3 x forward, 2 x for
/// weights that do not train), full s x s attention, configured vocabulary. The model vectors call it
/// "model_noncausal".
[[nodiscard]] Flop model_flop_per_sequence(const Transformer& model, Lengths lengths);
/// The part of them in products of routed experts.
[[nodiscard]] Flop expert_flop_per_sequence(const Transformer& model, Lengths lengths);
/// Like model_flop_per_sequence, with half the attention for the causal mask, as current Megatron logs count.
[[nodiscard]] Flop causal_model_flop_per_sequence(const Transformer& model, Lengths lengths);

/// Operations that recomputation repeats in one layer.
enum class RecomputedWork : std::uint8_t { kNone, kAttentionCore, kWholeLayer };
/// Adds to model_flop_per_sequence the operations repeated in the layers `recomputed`, counted once each.
[[nodiscard]] Flop hardware_flop_per_sequence(const Transformer& model, Lengths lengths, RecomputedWork work,
                                              const std::vector<LayerCount>& recomputed);
/// Forward operations of the products that recomputation of `modules` repeats, over all layers.
[[nodiscard]] Flop module_flop_per_sequence(const Transformer& model, Lengths lengths, SelectiveModules modules);

}  // namespace foretoken::model
