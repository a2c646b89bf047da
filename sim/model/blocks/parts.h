// The parts that layers are built of; each adds its ops and tensors to a block.
#pragma once

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Names of a norm's kernels and tensors.
struct NormNames {
  std::string_view forward, backward, weight, statistics, output;
};

/// A norm whose output linear layers read; the norm writes 8 bit itself for fp8 products. `reads_output` are the
/// modules whose recomputation starts at the output. Returns the output.
TensorId add_norm(BlockOps& block, const Transformer& model, const Cut& cut, const NormNames& names, TensorId input,
                  SelectiveModules reads_output);

/// Names of a residual connection's kernels and tensors.
struct ResidualNames {
  std::string_view forward, backward, mask, output;
};

/// Bias, dropout and residual: adds `branch` to `stream`. `deferred`: a later one adds both branches at once. Returns
/// the sum.
TensorId add_residual(BlockOps& block, const Transformer& model, const Cut& cut, const ResidualNames& names,
                      TensorId branch, TensorId stream, SelectiveModules repeated_by, bool deferred);

/// Attention with queries, keys and values from one product, as most decoders have it: product, positions, core and
/// projection. Reads a norm's output, returns the projection's output.
TensorId add_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Two products with an activation between them, gated or not. Reads a norm's output, returns the second's output.
TensorId add_mlp(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// The weight of one norm: its scale, and its bias where the norm has one.
[[nodiscard]] Weight norm_weight(const Transformer& model, std::string_view name);

/// A vector of `elements`, whole on every rank or split as the rows of its product are.
[[nodiscard]] Weight bias_weight(std::string_view name, std::int64_t elements, Split split);

/// The token table: rows are the vocabulary, split over tensor ranks and padded as the cut asks.
[[nodiscard]] Weight token_table(const Transformer& model, const LayerContext& context, std::string_view name);

}  // namespace foretoken::model
