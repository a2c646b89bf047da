// The parts that layers are built of. Each adds its ops and tensors to a block.
#pragma once

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// Names of a norm's kernels and tensors.
struct NormNames {
  std::string_view forward, backward, weight, statistics, output;
};

/// Adds a norm and returns its output, which linear layers read. For fp8 products the norm writes 8 bit itself.
/// `reads_output` names the modules whose recomputation starts at the output.
TensorId add_norm(BlockOps& block, const Transformer& model, const Cut& cut, const NormNames& names, TensorId input,
                  SelectiveModules reads_output);

/// Adds the norm of a branch, between its last product and the residual connection. Returns its output, in 16 bit.
TensorId add_norm_behind(BlockOps& block, const Transformer& model, const Cut& cut, const NormNames& names,
                         TensorId input);

/// Names of a residual connection's kernels and tensors, and whether its branch ends in a bias.
struct ResidualNames {
  std::string_view forward, backward, mask, output;
  bool bias = false;
};

/// Adds bias, dropout and residual connection: `branch` is added to `stream`. With `deferred` a later call adds both
/// branches at once. Returns the sum.
TensorId add_residual(BlockOps& block, const Transformer& model, const Cut& cut, const ResidualNames& names,
                      TensorId branch, TensorId stream, SelectiveModules repeated_by, bool deferred);

/// Adds attention with queries, keys and values from one product, as most decoders have it: product, positions, core,
/// projection. Reads a norm's output and returns the projection's output.
TensorId add_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Adds two products with an activation between them, gated or not. Reads a norm's output and returns the second
/// product's output.
TensorId add_mlp(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Adds the weight of one norm: its scale, and its bias where the norm has one. Norms without weights add none.
[[nodiscard]] IdList<WeightId> add_norm_weight(BlockOps& block, const Transformer& model, std::string_view name);

/// Returns a vector of `elements`, whole on every rank or split like the rows of its product.
[[nodiscard]] Weight bias_weight(std::string_view name, std::int64_t elements, Split split);

/// Returns the token table. Its rows are the vocabulary, split over tensor ranks and padded as the cut asks.
[[nodiscard]] Weight token_table(const Transformer& model, const LayerContext& context, std::string_view name);

}  // namespace foretoken::model
