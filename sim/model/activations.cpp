// Bytes of activations, counted tensor by tensor; 16-bit activations, 1-byte dropout masks.
//
// One layer keeps, per token (arXiv:2205.05198 section 4; h hidden, a heads, d head size, f MLP width, s sequence):
//   norms      input and output, 2h + 2h each     copied on every tensor rank, or cut by sequence parallelism
//   masks      h for each of two dropouts         likewise
//   attention  q 2ad, k and v 4gd, output 2ad     cut over the tensor ranks
//     unfused  softmax 2as; with dropout its mask as and its output 2as; k and v repeated for all a heads
//     flash    log-sum-exp of the softmax, 4a
//   MLP        fc1 output 2f (gated 4f), fc2 input 2f    cut over the tensor ranks
// For GPT shapes this sums to (10 + 24/t) h + 5as/t, Table 2 of that paper.
#include "sim/model/activations.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::model {
namespace {

/// Part of the tokens that one rank holds between the tensor-parallel regions.
double residual_share(const LayerContext& c) { return c.sequence_parallel ? 1.0 / c.tensor : 1.0; }

double hidden_bytes(const Transformer& m, const LayerContext& c) { return 2 * c.tokens() * real(m.hidden); }

/// One 16-bit tensor of tokens x hidden between the tensor-parallel regions.
double residual_bytes(const Transformer& m, const LayerContext& c) { return hidden_bytes(m, c) * residual_share(c); }

double dropout_mask_bytes(const Transformer& m, const LayerContext& c) {
  return m.hidden_dropout > 0 ? residual_bytes(m, c) / 2 : 0;
}

/// One a x s x s matrix of 16-bit scores. With context parallelism the queries are cut, the keys are not.
double score_bytes(const Transformer& m, const LayerContext& c) {
  return 2 * c.tokens() * real(m.heads) * real(c.sequence) / c.tensor;
}

/// Inputs of linear layers are kept as their products read them: in 8 or in 16 bit.
double kept_input(const LayerContext& c) { return c.precision == Precision::kFp8 ? 0.5 : 1; }

double norm_output_bytes(const Transformer& m, const LayerContext& c) {
  return 2 * residual_bytes(m, c) * kept_input(c);
}

/// The projection's input is attention's output, which is kept anyway; in 8 bit it is a tensor of its own.
double projection_input_bytes(const Transformer& m, const LayerContext& c) {
  return c.precision == Precision::kFp8 ? c.tokens() * real(m.heads) * real(m.head_dim) / c.tensor : 0;
}

/// Inputs of the two norms, one tensor when attention and MLP stand side by side. Transformer Engine also keeps fp32
/// statistics; Table 2 of arXiv:2205.05198 neglects them.
double norm_input_bytes(const Transformer& m, const LayerContext& c) {
  const double statistics = m.norm == Norm::kLayerNorm ? 2 : 1;
  const double kept = c.attention == AttentionKind::kFlash ? 2 * 4 * statistics * c.tokens() * residual_share(c) : 0;
  return (m.parallel_residual ? 1 : 2) * residual_bytes(m, c) + kept;
}

/// Ranks that trade tokens for heads keep attention's output in both orders.
double traded_output_bytes(const Transformer& m, const LayerContext& c) {
  const bool trades = c.context > 1 && c.exchange == ContextExchange::kAllToAll;
  return trades ? 2 * c.tokens() * real(m.heads) * real(m.head_dim) / c.tensor : 0;
}

/// Query, key, value and output. A tensor rank holds at least one key/value head; unfused attention repeats them.
double attention_operand_bytes(const Transformer& m, const LayerContext& c) {
  const double kv_heads =
      c.attention == AttentionKind::kUnfused ? real(m.heads) : std::max(real(m.kv_heads), real(c.tensor));
  return c.tokens() * real(m.head_dim) * (4 * real(m.heads) + 4 * kv_heads) / c.tensor;
}

/// What the attention core keeps between its operands and its output: what selective recomputation drops.
double attention_core_bytes(const Transformer& m, const LayerContext& c) {
  if (c.attention == AttentionKind::kFlash) return 4 * c.tokens() * real(m.heads) / c.tensor;
  return score_bytes(m, c) * (m.attention_dropout > 0 ? 2.5 : 1.0);
}

/// Output of fc1. ReLU's own output, which is the input of fc2, serves its backward pass.
double fc1_output_bytes(const Transformer& m, const LayerContext& c) {
  if (m.activation == Activation::kRelu) return 0;
  return 2 * c.tokens() * (m.mlp_matrices() - 1) * real(m.ffn_hidden) / c.tensor;
}

double fc2_input_bytes(const Transformer& m, const LayerContext& c) {
  return 2 * c.tokens() * real(m.ffn_hidden) / c.tensor * kept_input(c);
}

/// Bytes that selective recomputation does not store.
double dropped_bytes(const Transformer& m, const LayerContext& c, const SelectiveModules& modules) {
  double dropped = 0;
  if (modules.core_attention) dropped += attention_core_bytes(m, c);
  if (modules.layer_norm) dropped += norm_output_bytes(m, c);
  if (modules.mlp) dropped += fc1_output_bytes(m, c);
  if (modules.mlp || modules.activation) dropped += fc2_input_bytes(m, c);
  return dropped;
}

/// 16-bit logits of a micro-batch.
double logit_bytes(const Transformer& m, const LayerContext& c) {
  return 2 * c.tokens() * real(padded_vocabulary(m, c.tensor, c.pads_vocabulary)) / c.tensor;
}

}  // namespace

Bytes boundary_bytes(const Transformer& model, const LayerContext& context) {
  return Bytes(residual_bytes(model, context));
}

Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context, RecomputeGranularity granularity,
                             SelectiveModules modules) {
  expects(context.tensor >= 1 && context.context >= 1, "parallel degrees are at least one");
  if (granularity == RecomputeGranularity::kFull) return boundary_bytes(model, context);
  const double all = norm_input_bytes(model, context) + norm_output_bytes(model, context) +
                     2 * dropout_mask_bytes(model, context) + attention_operand_bytes(model, context) +
                     attention_core_bytes(model, context) + projection_input_bytes(model, context) +
                     traded_output_bytes(model, context) + fc1_output_bytes(model, context) +
                     fc2_input_bytes(model, context);
  const bool selective = granularity == RecomputeGranularity::kSelective;
  return Bytes(all - (selective ? dropped_bytes(model, context, modules) : 0));
}

Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context) {
  const double token_ids = 8 * context.tokens();
  const double norm_input = model.embedding_norm ? residual_bytes(model, context) : 0;
  return Bytes(token_ids + norm_input + dropout_mask_bytes(model, context));
}

Bytes head_activation_bytes(const Transformer& model, const LayerContext& context) {
  const bool in_16_bits = context.fusions.cross_entropy && !context.fusions.compiled_cross_entropy;
  const double loss = logit_bytes(model, context) * (in_16_bits ? 1 : 2);
  return Bytes(2 * residual_bytes(model, context) + loss);
}

Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context) {
  return layer_backward_transient_bytes(model, context, RecomputeGranularity::kNone);
}

// Two moments can be the worst. While the MLP's activation is differentiated, the gradients of both its sides are alive
// but fc2's input is already released; before it, fc2 needs its output's gradient gathered under sequence parallelism.
// While unfused attention is differentiated, one score-sized gradient is alive beyond what is stored (the fused softmax
// works in place) but the MLP's tensors are released.
Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context,
                                     RecomputeGranularity granularity, SelectiveModules modules) {
  if (granularity == RecomputeGranularity::kFull) {
    const Bytes recomputed =
        layer_activation_bytes(model, context, RecomputeGranularity::kNone) - boundary_bytes(model, context);
    return recomputed + layer_backward_transient_bytes(model, context, RecomputeGranularity::kNone);
  }
  const bool selective = granularity == RecomputeGranularity::kSelective;
  const double residual_gradients = residual_bytes(model, context) * (model.hidden_dropout > 0 ? 2 : 1);
  const double act_gradient =
      2 * context.tokens() * (model.mlp_matrices() - 1) * real(model.ffn_hidden) / context.tensor;
  const double gathered = context.sequence_parallel ? hidden_bytes(model, context) : 0;
  double mlp = std::max(act_gradient, gathered + fc2_input_bytes(model, context));
  if (selective && (modules.mlp || modules.activation)) mlp += fc2_input_bytes(model, context);
  if (selective && modules.mlp) mlp += fc1_output_bytes(model, context);

  double core = 0;
  if (context.attention == AttentionKind::kUnfused) {
    const double released = fc1_output_bytes(model, context) + fc2_input_bytes(model, context);
    core = score_bytes(model, context) - released;
    if (selective && modules.core_attention) core += attention_core_bytes(model, context);
  }
  return Bytes(residual_gradients + std::max(mlp, core));
}

// While the head is differentiated the softmax is already cast to the 16-bit gradient of the logits, and Megatron-LM
// makes a 16-bit gradient of the weights before it is added to the main gradient (a placeholder when fused).
Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context) {
  const double weights =
      2 * real(padded_vocabulary(model, context.tensor, context.pads_vocabulary)) * real(model.hidden) / context.tensor;
  const double gathered = context.sequence_parallel ? hidden_bytes(model, context) + residual_bytes(model, context) : 0;
  const double backward = weights + hidden_bytes(model, context) + gathered;
  const double logits = logit_bytes(model, context);
  // The softmax is divided out of place: 16-bit logits and their fp32 copy are alive beside the result.
  if (context.fusions.compiled_cross_entropy) return Bytes(std::max(3 * logits, backward - logits));
  if (context.fusions.cross_entropy) return Bytes(backward);
  return Bytes(std::max(logits, backward - logits));
}

std::string_view name_of(RecomputeGranularity granularity) {
  switch (granularity) {
    case RecomputeGranularity::kNone:
      return "none";
    case RecomputeGranularity::kSelective:
      return "selective";
    case RecomputeGranularity::kFull:
      return "full";
  }
  return "";
}

}  // namespace foretoken::model
