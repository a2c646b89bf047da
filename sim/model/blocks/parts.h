// The parts that layers are built of. Each adds its ops and tensors to a block.
#pragma once

#include <optional>

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/stacks/kinds.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// A product whose weight is whole on every rank, and the names of its kernels. In the precision of the layer's
/// products its input comes quantised, and it quantises its output gradient.
struct WholeProduct {
  std::string_view forward, input_gradient, weight_gradient;
  std::int64_t n = 1, k = 1;  ///< outputs and inputs
  Precision precision = Precision::kBf16;
};

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

/// Queries, keys and values of one layer.
struct Operands {
  TensorId queries, keys_and_values;
};

/// Adds the attention core. Returns its output.
TensorId add_core(BlockOps& block, const Transformer& model, const Cut& cut, const AttentionCore& core,
                  const Operands& operands);

/// Adds the product behind the core. Returns its output.
TensorId add_projection(BlockOps& block, const Transformer& model, const Cut& cut, const AttentionCore& core,
                        TensorId attended);

/// Adds attention with queries, keys and values from one product, as most decoders have it: product, positions, core,
/// projection. Reads a norm's output and returns the projection's output. The kind says which tokens a query sees.
TensorId add_attention(BlockOps& block, const Transformer& model, const Cut& cut, const LayerKind& kind,
                       TensorId input);

/// Adds attention of a decoder's tokens to the encoder's output: a product for queries, one for keys and values, core,
/// projection. Reads a norm's output and returns the projection's output. Precondition: the cut is the decoder's.
TensorId add_cross_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Adds the norm and the dropout that end one half of a model (T5). Returns the output.
TensorId add_end_of_half(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream);

/// Adds multi-head latent attention: products down to narrow vectors, their norms, products up to all heads, core,
/// projection. Precondition: the model has latent attention.
TensorId add_latent_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Adds two products with an activation between them, gated or not. Reads a norm's output and returns the second
/// product's output.
TensorId add_mlp(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Adds a mixture of experts: router, exchange of tokens, products of each expert, exchange back, shared experts.
/// Reads a norm's output and returns the sum over the experts of each token. Precondition: the model has experts.
TensorId add_experts(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input);

/// Returns the work of a product whose weight is whole on every rank: `tokens` rows of `k` inputs and `n` outputs.
[[nodiscard]] OwnKernels whole_product(const Cut& cut, const WholeProduct& product);

/// Parts of the two products of an MLP that recomputation by op repeats.
struct RepeatedShares {
  double first = 0, second = 0;
};

/// Recomputation by op repeats every second matrix of a layer (pytorch/torchtitan, torchtitan/distributed/
/// activation_checkpoint.py). Attention has four, so the MLP begins with one that is kept. Latent attention with narrow
/// queries has five.
[[nodiscard]] inline RepeatedShares repeated_shares(const Transformer& model) {
  const bool odd = model.latent && model.latent->query_rank > 0;
  if (model.gated()) return {0.5, odd ? 1.0 : 0.0};
  return odd ? RepeatedShares{1, 0} : RepeatedShares{0, 1};
}

/// Adds the ops of a layer behind `input`. Returns its output.
TensorId add_layer(BlockOps& block, const Transformer& model, const Cut& cut, const LayerKind& kind, TensorId input);

/// Adds a layer that predicts one further token behind `stream`: it joins the stream with the embedding of the next
/// token, and is a layer of the model's last kind. Returns its output.
TensorId add_prediction_layer(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream);

/// Adds the embedding of `ids` in front of a model or of one half: tokens, positions, norm, dropout. Returns its
/// output.
TensorId add_embedding(BlockOps& block, const Transformer& model, const Cut& cut, Half half, TensorId ids);

/// Adds the lookup of `ids` in a table, of which each tensor rank has a part, and the sum over the ranks.
void add_lookup(BlockOps& block, const Transformer& model, const Cut& cut, IdList<WeightId> table, TensorId ids,
                TensorId output);

/// Adds the weight of one norm: its scale, and its bias where the norm has one. Norms without weights add none. The
/// norm is as wide as the hidden size unless `width` says otherwise.
[[nodiscard]] IdList<WeightId> add_norm_weight(BlockOps& block, const Transformer& model, std::string_view name,
                                               std::optional<std::int64_t> width = std::nullopt);

/// Adds the weight of a whole product of `n` outputs and `k` inputs, and its bias.
[[nodiscard]] IdList<WeightId> add_whole_weight(BlockOps& block, std::string_view name, std::int64_t n, std::int64_t k);

/// Adds the projection of normed hidden states to the vocabulary, and the loss. It reads `share` of the tokens.
void add_output(BlockOps& block, const Transformer& model, const Cut& cut, const Weight& table, TensorId normed,
                double share = 1);

/// Adds the heads of an encoder behind `stream`: masked tokens, pooler, classes. Precondition: the model is an encoder.
void add_encoder_heads(BlockOps& block, const Transformer& model, const Cut& cut, const Weight& table, TensorId stream);

/// Returns a vector of `elements`, whole on every rank or split like the rows of its product.
[[nodiscard]] Weight bias_weight(std::string_view name, std::int64_t elements, Split split);

/// Returns the token table. Its rows are the vocabulary, split over tensor ranks and padded as the cut asks.
[[nodiscard]] Weight token_table(const Transformer& model, const LayerContext& context, std::string_view name);

}  // namespace foretoken::model
