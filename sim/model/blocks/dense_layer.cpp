// A dense decoder layer, in the order in which Megatron issues its ops (transformer_layer.py).
//
// Bytes that one layer keeps per token (arXiv:2205.05198 section 4; h hidden):
//   norms      input and output, 2h + 2h each     copied on every tensor rank, or cut by sequence parallelism
//   masks      h for each of two dropouts         likewise
// The tensors of attention and MLP come on top. For GPT shapes the sum is (10 + 24/t) h + 5as/t, Table 2 of that paper.
#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"

namespace foretoken::model {

BlockOps dense_layer(const Transformer& model, const LayerContext& context) {
  const Cut cut(context);
  const bool parallel = model.parallel_residual;
  const double residual = cut.residual_bytes(real(model.hidden));
  const SelectiveModules mlp{.core_attention = false, .mlp = true};
  BlockOps block;
  block.weights.reserve(12);
  block.tensors.reserve(24);
  block.ops.reserve(16);
  block.input = block.add(Tensor{.name = "layer input", .bytes = residual});
  block.gradient_bytes = residual * (model.hidden_dropout > 0 ? 2 : 1);

  const TensorId first =
      add_norm(block, model, cut, {"norm 1", "norm 1 gradient", "norm 1", "norm 1 statistics", "norm 1 output"},
               block.input, kNoModule);
  const TensorId attended = add_attention(block, model, cut, first);
  const TensorId between = add_residual(
      block, model, cut,
      {"bias dropout add 1", "bias dropout add 1 gradient", "dropout mask 1", "residual between attention and MLP"},
      attended, block.input, kNoModule, parallel);
  // With a parallel residual the MLP reads the layer's input. One reduction follows the sum of both outputs.
  const TensorId second =
      add_norm(block, model, cut, {"norm 2", "norm 2 gradient", "norm 2", "norm 2 statistics", "norm 2 output"},
               parallel ? block.input : between, mlp);
  const TensorId widened = add_mlp(block, model, cut, second);
  add_residual(block, model, cut,
               {"bias dropout add 2", "bias dropout add 2 gradient", "dropout mask 2", "layer output"}, widened,
               between, mlp, false);
  return block;
}

}  // namespace foretoken::model
