// Parameters and operations of a dense decoder, counted from its matrices.
//
// Every count is a whole number held in a double. Sums of parameters stay far below 2^53; operations may exceed it, but
// then every addend is a multiple of the sequence length times the hidden size, so the value is still exact for the
// powers of two that these have as factors. The tests compare with integers.
#include "sim/model/transformer.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::model {
namespace {

/// Output width of the fused query-key-value product: (a + 2g) d.
double qkv_width(const Transformer& m) { return real(m.heads + 2 * m.kv_heads) * real(m.head_dim); }

/// Output width of the first MLP product: f, or 2f when gated.
double fc1_width(const Transformer& m) { return (m.mlp_matrices() - 1) * real(m.ffn_hidden); }

/// Forward operations of the attention core of one layer: 2 s^2 a d for the scores and as many for the values.
double core_forward(const Transformer& m, double sequence) {
  return 4.0 * sequence * sequence * real(m.heads) * real(m.head_dim);
}

/// Forward operations of the linears of one layer: a multiply-add for each weight and token.
double linear_forward(const Transformer& m, double sequence) { return 2.0 * sequence * layer_matmul_parameters(m); }

/// Forward operations of the output head.
double head_forward_flop(const Transformer& m, double sequence) {
  return 2.0 * sequence * real(m.hidden) * real(m.vocabulary);
}

}  // namespace

double layer_matmul_parameters(const Transformer& model) {
  const double attention = real(model.hidden) * (qkv_width(model) + real(model.heads) * real(model.head_dim));
  return attention + real(model.mlp_matrices()) * real(model.hidden) * real(model.ffn_hidden);
}

double norm_parameters(const Transformer& model) {
  return real(model.hidden) * (model.norm == Norm::kLayerNorm && model.norm_bias ? 2 : 1);
}

double replicated_layer_parameters(const Transformer& model) {
  return 2 * norm_parameters(model) + (model.linear_bias ? 2 * real(model.hidden) : 0);
}

double layer_parameters(const Transformer& model) {
  return layer_matmul_parameters(model) + replicated_layer_parameters(model) + (model.qkv_bias ? qkv_width(model) : 0) +
         (model.linear_bias ? fc1_width(model) : 0);
}

double embedding_parameters(const Transformer& model) {
  const double positions = model.positions == Positions::kLearned ? real(model.max_positions) * real(model.hidden) : 0;
  return real(model.vocabulary) * real(model.hidden) + positions + (model.embedding_norm ? norm_parameters(model) : 0);
}

double head_parameters(const Transformer& model) {
  return norm_parameters(model) + (model.tied_embeddings ? 0 : real(model.vocabulary) * real(model.hidden));
}

double total_parameters(const Transformer& model) {
  return real(model.layers) * layer_parameters(model) + embedding_parameters(model) + head_parameters(model);
}

Flop model_flop_per_sequence(const Transformer& model, std::int64_t sequence) {
  expects(sequence > 0, "a sequence has at least one token");
  const double s = real(sequence);
  return Flop(3.0 *
              (real(model.layers) * (linear_forward(model, s) + core_forward(model, s)) + head_forward_flop(model, s)));
}

Flop causal_model_flop_per_sequence(const Transformer& model, std::int64_t sequence) {
  const double skipped = 1.5 * real(model.layers) * core_forward(model, real(sequence));
  return model_flop_per_sequence(model, sequence) - Flop(skipped);
}

Flop hardware_flop_per_sequence(const Transformer& model, std::int64_t sequence, RecomputedWork work,
                                double recomputed_layers) {
  const double s = real(sequence);
  double repeated = 0;
  if (work != RecomputedWork::kNone) repeated += core_forward(model, s);
  if (work == RecomputedWork::kWholeLayer) repeated += linear_forward(model, s);
  return model_flop_per_sequence(model, sequence) + Flop(recomputed_layers * repeated);
}

std::int64_t padded_vocabulary(const Transformer& model, int tensor, bool pads) {
  expects(tensor > 0, "a tensor-parallel group has at least one rank");
  if (!pads) return std::max<std::int64_t>(1, model.vocabulary / tensor) * tensor;
  const std::int64_t multiple = std::int64_t{128} * tensor;
  return (model.vocabulary + multiple - 1) / multiple * multiple;
}

}  // namespace foretoken::model
