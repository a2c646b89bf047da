// A layer of multi-token prediction (arXiv:2412.19437 section 2.2), as Megatron-Core runs it (Megatron-LM@d98e8a6,
// megatron/core/transformer/multi_token_prediction.py).
//
// The hidden state and the embedding of the next token are normed and joined, and a product brings 2h back to h. Then
// comes a layer of the model. Embedding and head are those of the model: they have no weights of their own here.
#include "sim/model/blocks/parts.h"

namespace foretoken::model {
namespace {

TensorId add_next_tokens(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream) {
  const TensorId next =
      block.add(Tensor{.name = "embedding of next tokens", .bytes = cut.residual_bytes(real(model.hidden))});
  add_lookup(block, model, cut, {}, stream, next);
  return next;
}

TensorId add_joined(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream, TensorId next) {
  const double hidden = real(model.hidden);
  const TensorId joined = block.add(
      Tensor{.name = "hidden states and next tokens", .bytes = 2 * cut.residual_bytes(hidden) * cut.input_share()});
  Op norms{.name = "norms of hidden states and next tokens",
           .role = OpRole::kNorm,
           .work = MemoryBound{8 * cut.region * hidden, 16 * cut.region * hidden, "gradient of both norms"},
           .weights = {},
           .reads = {stream, next},
           .writes = {joined},
           .saves = {stream, next}};
  for (const char* name : {"norm of hidden states", "norm of next tokens"})
    for (const WeightId weight : add_norm_weight(block, model, name)) norms.weights.add(weight);
  block.add(norms);
  return joined;
}

// The output is gathered over the tensor ranks. Under sequence parallelism each keeps its own tokens of it.
TensorId add_join_product(BlockOps& block, const Transformer& model, const Cut& cut, TensorId joined) {
  const TensorId output =
      block.add(Tensor{.name = "input of the prediction layer", .bytes = cut.residual_bytes(real(model.hidden))});
  block.add(Op{.name = "join hidden states and next tokens",
               .role = OpRole::kLinear,
               .work = Product{ProductKind::kColumn, "join input gradient", "join weight gradient"},
               .weights = {block.add(Weight{.name = "prediction projection",
                                            .kind = WeightKind::kMatrix,
                                            .rows = model.hidden,
                                            .columns = 2 * model.hidden,
                                            .split = Split::kRows})},
               .reads = {joined},
               .writes = {output},
               .saves = {joined}});
  block.add(Op{.name = "gather joined states",
               .role = OpRole::kComm,
               .work = Exchange{cut.whole_bytes(real(model.hidden)), CollectiveKind::kAllGather,
                                CollectiveKind::kReduceScatter, "scatter gradient of joined states"},
               .reads = {output},
               .writes = {output}});
  return output;
}

}  // namespace

TensorId add_prediction_layer(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream) {
  const TensorId next = add_next_tokens(block, model, cut, stream);
  const TensorId joined = add_joined(block, model, cut, stream, next);
  const LayerKind kind{.experts = model.experts.has_value(), .window = model.local.window_of(model.layers - 1)};
  return add_layer(block, model, cut, kind, add_join_product(block, model, cut, joined));
}

}  // namespace foretoken::model
