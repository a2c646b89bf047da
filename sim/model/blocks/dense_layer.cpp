// A dense layer of a decoder or an encoder, in the order in which Megatron issues its ops (transformer_layer.py).
//
// Bytes that one layer keeps per token (arXiv:2205.05198 section 4; h hidden):
//   norms      input and output, 2h + 2h each     copied on every tensor rank, or cut by sequence parallelism
//   masks      h for each of two dropouts         likewise
// The tensors of attention and MLP come on top. For GPT shapes the sum is (10 + 24/t) h + 5as/t, Table 2 of that paper.
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/tuning/tune.h"

namespace foretoken::model {
namespace {

constexpr NormNames kNorm1{"norm 1", "norm 1 gradient", "norm 1", "norm 1 statistics", "norm 1 output"};
constexpr NormNames kNorm2{"norm 2", "norm 2 gradient", "norm 2", "norm 2 statistics", "norm 2 output"};
constexpr NormNames kCross{"norm of cross-attention", "norm of cross-attention gradient", "norm of cross-attention",
                           "statistics of the norm of cross-attention", "output of the norm of cross-attention"};
constexpr NormNames kBehind1{"norm behind attention", "norm behind attention gradient", "norm behind attention",
                             "statistics of the norm behind attention", "normed attention"};
constexpr NormNames kBehind2{"norm behind MLP", "norm behind MLP gradient", "norm behind MLP",
                             "statistics of the norm behind MLP", "normed MLP"};

// Cross-attention with its norm and its residual connection. `reader` reads the sum.
TensorId add_cross_branch(BlockOps& block, const Transformer& model, const Cut& cut, SelectiveModules reader,
                          TensorId stream) {
  const TensorId read = model.normed_before() ? add_norm(block, model, cut, kCross, stream, kNoModule) : stream;
  const TensorId crossed = add_cross_attention(block, model, cut, read);
  const ResidualNames names{"bias dropout add of cross-attention", "bias dropout add of cross-attention gradient",
                            "dropout mask of cross-attention", "residual behind cross-attention", model.linear_bias};
  const TensorId sum = add_residual(block, model, cut, names, crossed, stream, kNoModule, false);
  return model.normed_sums() ? add_norm(block, model, cut, kCross, sum, reader) : sum;
}

}  // namespace

TensorId add_layer(BlockOps& block, const Transformer& model, const Cut& cut, const LayerKind& kind, TensorId input) {
  const bool parallel = model.parallel_residual;
  const SelectiveModules mlp{.core_attention = false, .mlp = !kind.experts, .experts = kind.experts};
  const auto norm_before = [&](const NormNames& names, TensorId stream, SelectiveModules reader) {
    return model.normed_before() ? add_norm(block, model, cut, names, stream, reader) : stream;
  };
  const auto norm_behind = [&](const NormNames& names, TensorId branch) {
    return model.normed_behind() ? add_norm_behind(block, model, cut, names, branch) : branch;
  };
  const auto norm_sum = [&](const NormNames& names, TensorId sum, SelectiveModules reader) {
    return model.normed_sums() ? add_norm(block, model, cut, names, sum, reader) : sum;
  };
  const auto attention = [&](TensorId read) {
    return model.latent ? add_latent_attention(block, model, cut, read) : add_attention(block, model, cut, kind, read);
  };
  const auto feed_forward = [&](TensorId read) {
    return kind.experts ? add_experts(block, model, cut, read) : add_mlp(block, model, cut, read);
  };
  const TensorId first = norm_before(kNorm1, input, kNoModule);
  const TensorId attended = norm_behind(kBehind1, attention(first));
  const TensorId sum = add_residual(block, model, cut,
                                    {"bias dropout add 1", "bias dropout add 1 gradient", "dropout mask 1",
                                     "residual between attention and MLP", model.biased_projection()},
                                    attended, input, kNoModule, parallel);
  const bool crosses = kind.half == Half::kDecoder;
  const TensorId self = norm_sum(kNorm1, sum, crosses ? kNoModule : mlp);
  const TensorId between = crosses ? add_cross_branch(block, model, cut, mlp, self) : self;
  // With a parallel residual the MLP reads the layer's input. One reduction follows the sum of both outputs.
  const bool shares = parallel && model.shared_norm;
  const TensorId second = shares ? first : norm_before(kNorm2, parallel ? input : between, mlp);
  const TensorId widened = norm_behind(kBehind2, feed_forward(second));
  const TensorId output = add_residual(
      block, model, cut,
      {"bias dropout add 2", "bias dropout add 2 gradient", "dropout mask 2", "layer output", model.biased_mlp()},
      widened, between, mlp, false);
  return norm_sum(kNorm2, output, kNoModule);
}

namespace {

// The compiler takes a layer with experts apart. Recomputation by op keeps all that its parts bring, the products of
// experts included, and repeats what runs between them: pytorch/torchtitan, torchtitan/models/llama4/infra/
// parallelize.py, apply_compile, and inductor_compiled_code of _op_sac_save_list. A part also brings
// its output, even where no op saves it: that of the projection or of experts, which a copy or a sum outside reads.
void keep_compiled_parts(BlockOps& block) {
  std::vector<bool> repeated(block.tensors.size(), false), brought = repeated;
  for (Op& op : block.ops) {
    op.kept_by_op = !op.between_parts;
    if (op.between_parts || op.role == OpRole::kElementwise)
      for (const TensorId id : op.reads)
        if (brought[id.index()]) block.tensors[id.index()].kept_by.by_op = true;
    for (const TensorId id : op.writes) {
      if (op.between_parts) repeated[id.index()] = true;
      brought[id.index()] = op.role == OpRole::kLinear || op.role == OpRole::kNorm;
    }
  }
  for (std::size_t tensor = 0; tensor < repeated.size(); ++tensor)
    if (!repeated[tensor]) block.tensors[tensor].dropped_by.by_op = false;
}

}  // namespace

BlockOps decoder_layer(const Transformer& model, const LayerContext& context, const LayerKind& kind) {
  if (kind.half != Half::kNone) return half_layer(model, context, kind);
  const Cut cut(context);
  const double residual = cut.residual_bytes(real(model.hidden));
  BlockOps block;
  block.weights.reserve(12);
  block.tensors.reserve(24);
  block.ops.reserve(16);
  block.input = block.add(Tensor{.name = "layer input", .bytes = cut.stream_bytes(real(model.hidden))});
  block.gradient_bytes = residual * (model.hidden_dropout > 0 ? 2 : 1);
  (void)add_layer(block, model, cut, kind, block.input);
  if (context.compiled && kind.experts) keep_compiled_parts(block);
  return tuned_layer(std::move(block), model, context);
}

BlockOps dense_layer(const Transformer& model, const LayerContext& context) {
  return decoder_layer(model, context, {});
}

}  // namespace foretoken::model
