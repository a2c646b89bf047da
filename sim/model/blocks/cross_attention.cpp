// Cross-attention: the tokens of a decoder attend to the output of the encoder beside it.
//
// Queries come from the decoder's tokens, keys and values from the encoder's (arXiv:1706.03762 section 3.2.3). All of
// the decoder's layers read the same encoder output, so a chunk keeps it once. Each of them adds its part to the
// gradient of that output: two reads and a write. Every query sees all keys, and no position is added.
#include "sim/model/blocks/parts.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

AttentionCore core_of(const Transformer& model, const LayerContext& context) {
  return {.heads = model.heads,
          .kv_heads = model.kv_heads,
          .head_dim = model.head_dim,
          .dropout = model.attention_dropout > 0,
          .causal = false,
          .keys = context.other_half().sequence};
}

/// A product of queries, or of keys and values, and the names of its kernels.
struct Side {
  std::string_view name, input_gradient, weight_gradient, bias, bias_gradient;
  std::int64_t width = 1;
  double token_share = 1;  ///< its tokens, relative to the decoder's
};
constexpr Side kQueries{"cross query", "cross query input gradient", "cross query weight gradient", "cross query bias",
                        "cross query bias gradient"};
constexpr Side kKeysAndValues{"cross key-value", "cross key-value input gradient", "cross key-value weight gradient",
                              "cross key-value bias", "cross key-value bias gradient"};

Side sized(Side side, std::int64_t width, double token_share) {
  side.width = width;
  side.token_share = token_share;
  return side;
}

TensorId add_side(BlockOps& block, const Transformer& model, const Cut& cut, const Side& side, TensorId input) {
  const double bytes = kHalf * cut.of_share(side.token_share).tokens * real(side.width) / cut.context.tensor;
  const TensorId output = block.add(Tensor{.name = side.name, .bytes = bytes});
  Op product{.name = side.name,
             .role = OpRole::kLinear,
             .work = Product{.kind = ProductKind::kColumn,
                             .input_gradient = side.input_gradient,
                             .weight_gradient = side.weight_gradient,
                             .token_share = side.token_share},
             .weights = {block.add(Weight{.name = side.name,
                                          .kind = WeightKind::kMatrix,
                                          .rows = side.width,
                                          .columns = model.hidden,
                                          .split = Split::kRows})},
             .reads = {input},
             .writes = {output},
             .saves = {input}};
  if (model.qkv_bias) product.weights.add(block.add(bias_weight(side.bias, side.width, Split::kRows)));
  block.add(product);
  block.add(Op{.name = side.bias,  // the product itself adds the bias
               .work = MemoryBound{0, model.qkv_bias ? bytes : 0, side.bias_gradient},
               .reads = {output},
               .writes = {output}});
  return output;
}

// The chunk keeps the encoder's output and holds its gradient while the decoder runs backward. A quantised copy is the
// layer's own.
TensorId add_encoder_output(BlockOps& block, const Transformer& model, const Cut& tokens) {
  const double bytes = tokens.residual_bytes(real(model.hidden));
  const double quantised = tokens.quantises() ? quantise_whole_bytes(tokens) * tokens.region * real(model.hidden) : 0;
  block.shared_bytes = bytes;
  block.gradient_bytes += bytes;
  const TensorId output =
      block.add(Tensor{.name = "encoder output", .bytes = tokens.quantises() ? bytes * tokens.input_share() : 0});
  block.add(
      Op{.name = "encoder output",
         .work = MemoryBound{quantised, 6 * tokens.region * real(model.hidden), "add gradient of the encoder output"},
         .writes = {output}});
  return output;
}

}  // namespace

TensorId add_cross_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  const AttentionCore core = core_of(model, cut.context);
  const double share = real(core.keys) / real(cut.context.sequence);
  const std::int64_t keys_and_values = core.kv_heads * (core.head_dim + core.values_dim());
  const TensorId encoded = add_encoder_output(block, model, cut.of_share(share));
  const Operands operands{add_side(block, model, cut, sized(kQueries, core.heads * core.head_dim, 1), input),
                          add_side(block, model, cut, sized(kKeysAndValues, keys_and_values, share), encoded)};
  return add_projection(block, model, cut, core, add_core(block, model, cut, core, operands));
}

}  // namespace foretoken::model
