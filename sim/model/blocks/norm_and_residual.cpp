// Norms and residual connections. They stand between the tensor-parallel regions, where each rank holds R tokens.
#include "sim/model/blocks/parts.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

// PyTorch has no kernel for an RMSNorm written in fp32: to fp32 (6 bytes an element), square (8), mean (4), product
// with the root (8), to 16 bit (6), product with the weight (4).
bool runs_unfused(const Transformer& model, const Cut& cut) {
  return model.norm == Norm::kRmsNorm && !cut.context.fusions.rms_norm;
}

// The fused kernel reads and writes 16 bit. Under autocast it reads and writes fp32, and a cast for the next product
// follows (6). The unfused kernels have such casts already.
double norm_forward_bytes(const Transformer& model, const Cut& cut, double hidden) {
  if (runs_unfused(model, cut)) return 36 * cut.region * hidden;
  return (cut.context.autocast ? 14 : 4) * cut.region * hidden;
}

// The residual's gradient is added: two reads, one write.
double added_gradient_bytes(const Cut& cut, double hidden) {
  return (cut.context.autocast ? 12 : 6) * cut.region * hidden;
}

// The fused kernel reads gradient and input, writes the gradient, and reads the gradient again for gamma and beta: 4 x
// 2 bytes, or 4 x 4 bytes and a cast (6) under autocast.
//
// Unfused: the products with weight and root (8 + 6 + 8), the root's gradient, a sum over the tokens (16), the square
// (12), the sum of both paths (12), and two casts (6 each).
double norm_backward_bytes(const Transformer& model, const Cut& cut, double hidden) {
  if (runs_unfused(model, cut)) return 68 * cut.region * hidden;
  return (cut.context.autocast ? 22 : 8) * cut.region * hidden;
}

// The unfused norm keeps its input in fp32 and its normed input.
double norm_copies_bytes(const Cut& cut, double hidden) { return 4 * cut.residual_bytes(hidden) / kHalf; }

// Transformer Engine keeps fp32 statistics. Table 2 of arXiv:2205.05198 neglects them.
double statistics_bytes(const Transformer& model, const Cut& cut) {
  const double numbers = model.norm == Norm::kLayerNorm ? 2 : 1;
  return cut.context.attention == AttentionKind::kFlash ? 4 * numbers * cut.tokens * cut.residual_share() : 0;
}

// The kernel reads the branch and the stream. It writes the sum and a mask of one byte. A dropout of its own writes its
// output, which the sum reads. Under autocast stream and sum are fp32, and the gradient of the branch is cast.
double residual_forward_bytes(const Transformer& model, const Cut& cut) {
  const double dropout = model.hidden_dropout > 0 ? (cut.context.fusions.residual ? 1 : 5) : 0;
  return ((cut.context.autocast ? 10 : 6) + dropout) * cut.region * real(model.hidden);
}

double residual_backward_bytes(const Transformer& model, const Cut& cut, bool has_bias) {
  const double dropout = model.hidden_dropout > 0 ? 5 : 0;  // gradient, mask, out
  const double bias = has_bias ? 2 : 0;                     // bias gradient reads the gradient
  const double cast = cut.context.autocast ? 6 : 0;
  return (dropout + bias + cast) * cut.region * real(model.hidden);
}

}  // namespace

IdList<WeightId> add_norm_weight(BlockOps& block, const Transformer& model, std::string_view name,
                                 std::optional<std::int64_t> width) {
  if (!model.norm_scale) return {};
  const bool bias = model.norm == Norm::kLayerNorm && model.norm_bias;
  const int vectors = bias ? 2 : 1;
  return {
      block.add(Weight{.name = name, .rows = vectors, .columns = width.value_or(model.hidden), .stored_as = vectors})};
}

Weight bias_weight(std::string_view name, std::int64_t elements, Split split) {
  return {.name = name, .rows = elements, .columns = 1, .split = split};
}

TensorId add_norm(BlockOps& block, const Transformer& model, const Cut& cut, const NormNames& names, TensorId input,
                  SelectiveModules reads_output) {
  const double hidden = real(model.hidden);
  const bool shared = model.parallel_residual && model.shared_norm;  // then it adds the gradients of both its readers
  const IdList<WeightId> weights = add_norm_weight(block, model, names.weight);
  const TensorId statistics =
      block.add(Tensor{.name = names.statistics, .bytes = statistics_bytes(model, cut), .fixed = true});
  const TensorId output = block.add(Tensor{.name = names.output,
                                           .bytes = cut.residual_bytes(hidden) * cut.input_share(),
                                           .dropped_by = {.core_attention = false, .layer_norm = true, .by_op = true}});
  Op norm{.name = names.forward,
          .role = OpRole::kNorm,
          .work = MemoryBound{norm_forward_bytes(model, cut, hidden),
                              norm_backward_bytes(model, cut, hidden) +
                                  (shared ? 2 : 1) * added_gradient_bytes(cut, hidden),
                              names.backward},
          .weights = weights,
          .reads = {input},
          .writes = {statistics, output},
          .saves = {input, statistics},
          .repeated_by = {.core_attention = false, .layer_norm = true}};
  if (runs_unfused(model, cut)) {
    const TensorId copy = block.add(Tensor{.name = "fp32 input of an unfused norm",
                                           .bytes = norm_copies_bytes(cut, hidden),
                                           .dropped_by = {.core_attention = false, .by_op = true}});
    norm.writes.add(copy);
    norm.saves.add(copy);
  }
  block.add(norm);
  block.add(Op{.name = "quantise",
               .work = MemoryBound{.forward_bytes = quantise_norm_bytes(cut) * cut.region * hidden},
               .reads = {output},
               .writes = {output},
               .repeated_by = reads_output});
  return output;
}

// The kernels move what every norm moves. Where no norm stands before the branch, they add the residual's gradient. The
// backward pass needs the branch itself.
TensorId add_norm_behind(BlockOps& block, const Transformer& model, const Cut& cut, const NormNames& names,
                         TensorId input) {
  const double hidden = real(model.hidden);
  const IdList<WeightId> weights = add_norm_weight(block, model, names.weight);
  const TensorId statistics =
      block.add(Tensor{.name = names.statistics, .bytes = statistics_bytes(model, cut), .fixed = true});
  const TensorId output = block.add(Tensor{.name = names.output, .bytes = cut.residual_bytes(hidden)});
  block.add(Op{.name = names.forward,
               .role = OpRole::kNorm,
               .work = MemoryBound{norm_forward_bytes(model, cut, hidden),
                                   norm_backward_bytes(model, cut, hidden) +
                                       (model.normed_before() ? 0 : added_gradient_bytes(cut, hidden)),
                                   names.backward},
               .weights = weights,
               .reads = {input},
               .writes = {statistics, output},
               .saves = {input, statistics}});
  return output;
}

TensorId add_residual(BlockOps& block, const Transformer& model, const Cut& cut, const ResidualNames& names,
                      TensorId branch, TensorId stream, SelectiveModules repeated_by, bool deferred) {
  const double bytes = cut.residual_bytes(real(model.hidden));
  const TensorId sum = block.add(Tensor{.name = names.output, .bytes = cut.stream_bytes(real(model.hidden))});
  Op op{.name = names.forward, .work = MemoryBound{}, .reads = {branch, stream}, .writes = {sum}};
  op.repeated_by = repeated_by;
  if (!deferred)
    op.work = MemoryBound{residual_forward_bytes(model, cut), residual_backward_bytes(model, cut, names.bias),
                          names.backward};
  if (model.hidden_dropout > 0) {
    const TensorId mask = block.add(Tensor{.name = names.mask, .bytes = bytes / 2, .fixed = true});
    op.writes.add(mask);
    op.saves.add(mask);
  }
  block.add(op);
  return sum;
}

}  // namespace foretoken::model
