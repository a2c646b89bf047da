// Operations of a training step over one sequence, counted from the products and attention cores of blocks.
#pragma once

#include "sim/base/units.h"
#include "sim/model/block.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::model {

/// Forward operations of one block over one sequence: a multiply-add for each matrix element and token.
[[nodiscard]] double product_flop(const BlockOps& block, double sequence);
/// The same of the products that recomputation of `modules` repeats.
[[nodiscard]] double product_flop(const BlockOps& block, double sequence, SelectiveModules modules);
/// Forward operations of its attention cores: 2 s^2 a d for the scores and as many for the values.
[[nodiscard]] double core_flop(const BlockOps& block, double sequence);

/// Operations of one training step over one sequence of length `sequence`, forward and backward (3 x forward; 2 x
/// where the weight does not train), full
/// s x s attention, configured vocabulary: "model_noncausal" of the model vectors.
[[nodiscard]] Flop model_flop_per_sequence(const Transformer& model, std::int64_t sequence);
/// The same with causal attention halved, as current Megatron logs count.
[[nodiscard]] Flop causal_model_flop_per_sequence(const Transformer& model, std::int64_t sequence);

/// Operations that recomputation repeats in one layer.
enum class RecomputedWork : std::uint8_t { kNone, kAttentionCore, kWholeLayer };
/// model_flop_per_sequence plus the operations repeated in the layers `recomputed`, counted once each.
[[nodiscard]] Flop hardware_flop_per_sequence(const Transformer& model, std::int64_t sequence, RecomputedWork work,
                                              const std::vector<LayerCount>& recomputed);
/// Forward operations of the products that recomputation of `modules` repeats, in all layers.
[[nodiscard]] Flop module_flop_per_sequence(const Transformer& model, std::int64_t sequence, SelectiveModules modules);

}  // namespace foretoken::model
