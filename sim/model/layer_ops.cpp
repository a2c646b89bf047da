// The kernels of a transformer layer in the order in which Megatron issues them.
//
// Shapes follow megatron/core/tensor_parallel/layers.py and transformer_layer.py. T tokens reach a tensor-parallel
// group, R = T/t of them each rank in sequence-parallel regions (R = T without sequence parallelism). Memory-bound
// kernels are counted by the bytes that they read and write once, 16-bit activations; a dropout mask is one byte an
// element. Byte counts per kernel: arXiv:2205.05198 section 4 for what is stored, the kernels' reads and writes on top
// (docs/models/layer.md has the table). A backward collective runs beside the GEMM that follows it: the input
// re-gather beside the input gradient, the reduction of the input gradient beside the weight gradient.
#include "sim/model/layer_ops.h"

#include <algorithm>
#include <array>

#include "sim/model/op_list.h"

namespace foretoken::model {
namespace {

constexpr double kHalf = 2;  // bytes of a 16-bit element

// Everything a layer's ops need, spelt once.
struct Cut {
  const Transformer& model;
  const LayerContext& context;
  double tokens;         // T
  double region;         // R
  double hidden;         // h
  std::int64_t T, h;     // the same as GEMM sizes
  std::int64_t qkv, ad;  // (a+2g)d/t and ad/t
  std::int64_t f;        // f/t
  std::int64_t fc1;      // (n_f - 1) f/t

  Cut(const Transformer& m, const LayerContext& c)
      : model(m),
        context(c),
        tokens(c.tokens()),
        region(c.sequence_parallel ? tokens / c.tensor : tokens),
        hidden(static_cast<double>(m.hidden)),
        T(static_cast<std::int64_t>(tokens)),
        h(m.hidden),
        qkv((m.heads + 2 * m.kv_heads) * m.head_dim / c.tensor),
        ad(m.heads * m.head_dim / c.tensor),
        f(m.ffn_hidden / c.tensor),
        fc1((m.mlp_matrices() - 1) * f) {}

  [[nodiscard]] double boundary() const { return kHalf * tokens * hidden; }  // bytes of a [T, h] activation
  [[nodiscard]] double score_elements() const {                              // b a/t s s_kv
    return static_cast<double>(context.micro_batch * (model.heads / context.tensor)) *
           static_cast<double>(context.sequence / context.context) * static_cast<double>(context.sequence);
  }
  // Megatron's fused softmax works on blocks of four score matrices (megatron/fused_kernels, fused_softmax.py).
  [[nodiscard]] bool fused_softmax() const { return batched_heads() % 4 == 0; }
  [[nodiscard]] std::int64_t batched_heads() const { return context.micro_batch * (model.heads / context.tensor); }
  [[nodiscard]] std::int64_t local_sequence() const { return context.sequence / context.context; }
  // Attention products stay 16 bit, in fp16 where the training is.
  [[nodiscard]] Precision core_precision() const {
    return context.precision == Precision::kFp16 ? Precision::kFp16 : Precision::kBf16;
  }
  [[nodiscard]] bool gathers_qkv() const { return model.kv_heads < context.tensor; }
  [[nodiscard]] double qkv_bytes() const { return kHalf * tokens * static_cast<double>(qkv); }
  [[nodiscard]] double key_value_bytes() const {  // K and V of the local tokens
    const double heads = static_cast<double>(std::max<std::int64_t>(1, model.kv_heads / context.tensor));
    return 2 * kHalf * tokens * heads * static_cast<double>(model.head_dim);
  }
};

double norm_forward_bytes(const Cut& cut) { return 4 * cut.region * cut.hidden; }
// Kernel: reads gradient and input, writes gradient, and reads the gradient again for gamma and beta (4 x 2 bytes).
// 6Rh more add the residual's gradient: two reads, one write.
double norm_backward_bytes(const Cut& cut) { return (8 + 6) * cut.region * cut.hidden; }

// Bias, dropout and residual: x, residual, out, one-byte mask.
double residual_forward_bytes(const Cut& cut) {
  return (cut.model.hidden_dropout > 0 ? 7 : 6) * cut.region * cut.hidden;
}
double residual_backward_bytes(const Cut& cut) {
  const double dropout = cut.model.hidden_dropout > 0 ? 5 : 0;  // gradient, mask, out
  const double bias = cut.model.linear_bias ? 2 : 0;            // bias gradient reads the gradient
  return (dropout + bias) * cut.region * cut.hidden;
}

double activation_forward_bytes(const Cut& cut) {
  return (cut.model.gated() ? 6 : 4) * cut.tokens * static_cast<double>(cut.f);
}
double activation_backward_bytes(const Cut& cut) {
  const double bias = cut.model.linear_bias ? 2 * static_cast<double>(cut.fc1) : 0;
  return cut.tokens * ((cut.model.gated() ? 10 : 6) * static_cast<double>(cut.f) + bias);
}

double rotary_bytes(const Cut& cut) {
  if (cut.model.positions != Positions::kRotary) return 0;
  return 4 * cut.tokens * static_cast<double>((cut.model.heads + cut.model.kv_heads) * cut.model.head_dim) /
         cut.context.tensor;
}

// fp8 GEMMs read quantised copies: 2 bytes in, the copy and its transpose out.
void cast_for_fp8(OpWriter& ops, const Cut& cut, double columns) {
  if (cut.context.precision == Precision::kFp8) ops.memory("fp8 cast", OpRole::kElementwise, 4 * cut.tokens * columns);
}

void forward_linear(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k) {
  cast_for_fp8(ops, cut, static_cast<double>(k));
  ops.gemm(name, OpRole::kLinear, {.m = cut.T, .n = n, .k = k, .precision = cut.context.precision});
}

void input_gradient(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k) {
  cast_for_fp8(ops, cut, static_cast<double>(n));
  ops.gemm(name, OpRole::kLinear,
           {.m = cut.T, .n = k, .k = n, .pass = GemmPass::kInputGradient, .precision = cut.context.precision});
}

void weight_gradient(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k) {
  ops.gemm(name, OpRole::kLinear,
           {.m = n, .n = k, .k = cut.T, .pass = GemmPass::kWeightGradient, .precision = cut.context.precision});
  ops.memory("accumulate gradient", OpRole::kAccumulate,
             cut.context.gradient_accumulation_bytes * static_cast<double>(n) * static_cast<double>(k));
}

// Backward of a column-parallel linear: its input gradient must be summed over tensor ranks, its input (with sequence
// parallelism only a shard is kept) gathered again.
void column_backward(OpWriter& ops, const Cut& cut, std::string_view dgrad, std::string_view wgrad, std::int64_t n) {
  const bool beside = cut.context.overlap_backward_collectives;
  if (cut.context.sequence_parallel) {
    ops.collective("gather input again", CollectiveKind::kAllGather, cut.boundary(), beside);
    input_gradient(ops, cut, dgrad, n, cut.h);
    ops.collective("reduce-scatter input gradient", CollectiveKind::kReduceScatter, cut.boundary(), beside);
    weight_gradient(ops, cut, wgrad, n, cut.h);
    return;
  }
  input_gradient(ops, cut, dgrad, n, cut.h);
  if (beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, cut.boundary(), true);
  weight_gradient(ops, cut, wgrad, n, cut.h);
  if (!beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, cut.boundary());
}

bool userbuffers(const Cut& cut) { return cut.context.sequence_parallel && cut.context.overlap_forward_collectives; }

// Part of a pipelined reduce-scatter that stays behind its GEMM: Transformer Engine cuts it into four pieces
// (Megatron-Bridge performance guide).
constexpr double kExposedReduceScatter = 0.25;

void gather_forward(OpWriter& ops, const Cut& cut) {
  if (cut.context.sequence_parallel)
    ops.collective("gather tokens", CollectiveKind::kAllGather, cut.boundary(), userbuffers(cut));
}

// A row-parallel linear and the reduction of its output over tensor ranks.
void row_forward(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t k, bool reduces) {
  if (reduces && userbuffers(cut)) {
    ops.collective("reduce-scatter output beside", CollectiveKind::kReduceScatter,
                   (1 - kExposedReduceScatter) * cut.boundary(), true);
  }
  forward_linear(ops, cut, name, cut.h, k);
  if (!reduces) return;
  if (userbuffers(cut))
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, kExposedReduceScatter * cut.boundary());
  else if (cut.context.sequence_parallel)
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, cut.boundary());
  else
    ops.collective("all-reduce output", CollectiveKind::kAllReduce, cut.boundary());
}

GemmShape batched(const Cut& cut, std::int64_t m, std::int64_t n, std::int64_t k, GemmPass pass) {
  return {.m = m, .n = n, .k = k, .batch = cut.batched_heads(), .pass = pass, .precision = cut.core_precision()};
}

AttentionShape flash_shape(const Cut& cut, bool backward) {
  return {.batch = cut.context.micro_batch,
          .heads = cut.model.heads / cut.context.tensor,
          .kv_heads = std::max<std::int64_t>(1, cut.model.kv_heads / cut.context.tensor),
          .q_length = cut.local_sequence(),
          .kv_length = cut.context.sequence,
          .head_dim = cut.model.head_dim,
          .causal = true,
          .backward = backward,
          .precision = cut.core_precision()};
}

// The softmax of fp32 copies without a kernel of its own: kernels and their bytes for each score, a mask of one byte.
struct ScoreKernel {
  std::string_view name;
  double bytes;
};
constexpr std::array<ScoreKernel, 5> kSoftmaxForward{
    {{"scores to fp32", 6}, {"scale scores", 8}, {"mask scores", 9}, {"fp32 softmax", 8}, {"softmax to 16 bit", 6}}};
constexpr std::array<ScoreKernel, 5> kSoftmaxBackward{{{"softmax gradient to fp32", 6},
                                                       {"fp32 softmax gradient", 12},
                                                       {"mask gradient", 9},
                                                       {"scale gradient", 8},
                                                       {"score gradient to 16 bit", 6}}};

void core_forward(OpWriter& ops, const Cut& cut) {
  if (cut.context.attention == AttentionKind::kFlash) {
    ops.context_collective("exchange keys and values", cut.key_value_bytes() * cut.context.context);
    ops.attention("flash attention", flash_shape(cut, false));
    return;
  }
  const std::int64_t s = cut.local_sequence(), kv = cut.context.sequence, d = cut.model.head_dim;
  const double context_copy = 4 * cut.tokens * static_cast<double>(cut.ad);
  const double scores = cut.score_elements();
  if (cut.model.kv_heads < cut.model.heads)  // keys and values are repeated for every query head
    ops.memory("repeat keys and values", OpRole::kAttention, 2 * context_copy);
  ops.gemm("scores", OpRole::kAttention, batched(cut, s, kv, d, GemmPass::kForward));
  if (cut.fused_softmax()) {
    ops.memory("softmax", OpRole::kAttention, 4 * scores);
  } else {
    for (const auto& [name, bytes] : kSoftmaxForward) ops.memory(name, OpRole::kAttention, bytes * scores);
  }
  if (cut.model.attention_dropout > 0) ops.memory("attention dropout", OpRole::kAttention, 5 * scores);
  ops.gemm("values", OpRole::kAttention, batched(cut, s, d, kv, GemmPass::kForward));
  ops.memory("context copy", OpRole::kAttention, context_copy);
}

void core_backward(OpWriter& ops, const Cut& cut) {
  if (cut.context.attention == AttentionKind::kFlash) {
    // Keys and values travel again and their gradients come back: twice the forward message.
    ops.context_collective("exchange keys, values and gradients", 2 * cut.key_value_bytes() * cut.context.context);
    ops.attention("flash attention backward", flash_shape(cut, true));
    return;
  }
  const std::int64_t s = cut.local_sequence(), kv = cut.context.sequence, d = cut.model.head_dim;
  const double scores = cut.score_elements();
  ops.memory("context gradient copy", OpRole::kAttention, 4 * cut.tokens * static_cast<double>(cut.ad));
  ops.gemm("probability gradient", OpRole::kAttention, batched(cut, s, kv, d, GemmPass::kInputGradient));
  ops.gemm("value gradient", OpRole::kAttention, batched(cut, kv, d, s, GemmPass::kInputGradient));
  if (cut.model.attention_dropout > 0) ops.memory("attention dropout gradient", OpRole::kAttention, 5 * scores);
  if (cut.fused_softmax()) {
    ops.memory("softmax gradient", OpRole::kAttention, 6 * scores);
  } else {
    for (const auto& [name, bytes] : kSoftmaxBackward) ops.memory(name, OpRole::kAttention, bytes * scores);
  }
  ops.gemm("query gradient", OpRole::kAttention, batched(cut, s, d, kv, GemmPass::kInputGradient));
  ops.gemm("key gradient", OpRole::kAttention, batched(cut, kv, d, s, GemmPass::kInputGradient));
}

}  // namespace

OpList attention_core_forward(const Transformer& model, const LayerContext& context) {
  const Cut cut(model, context);
  OpWriter ops(context);
  core_forward(ops, cut);
  return ops.take();
}

OpList layer_forward(const Transformer& model, const LayerContext& context) {
  const Cut cut(model, context);
  OpWriter ops(context);
  ops.memory("norm 1", OpRole::kNorm, norm_forward_bytes(cut));
  gather_forward(ops, cut);
  forward_linear(ops, cut, "qkv", cut.qkv, cut.h);
  if (cut.gathers_qkv()) ops.collective("gather qkv", CollectiveKind::kAllGather, cut.qkv_bytes() * context.tensor);
  ops.memory("rotary embedding", OpRole::kElementwise, rotary_bytes(cut));
  core_forward(ops, cut);
  // With a parallel residual attention and MLP outputs are summed before one reduction.
  row_forward(ops, cut, "projection", cut.ad, !model.parallel_residual);
  if (!model.parallel_residual) {
    ops.memory("bias dropout add 1", OpRole::kElementwise, residual_forward_bytes(cut));
  }
  ops.memory("norm 2", OpRole::kNorm, norm_forward_bytes(cut));
  gather_forward(ops, cut);  // also with a parallel residual: fc1 reads norm 2's output
  forward_linear(ops, cut, "fc1", cut.fc1, cut.h);
  ops.memory("activation", OpRole::kElementwise, activation_forward_bytes(cut));
  row_forward(ops, cut, "fc2", cut.f, true);
  ops.memory("bias dropout add 2", OpRole::kElementwise, residual_forward_bytes(cut));
  return ops.take();
}

OpList layer_backward(const Transformer& model, const LayerContext& context) {
  const Cut cut(model, context);
  OpWriter ops(context);
  ops.memory("bias dropout add 2 gradient", OpRole::kElementwise, residual_backward_bytes(cut));
  gather_forward(ops, cut);
  input_gradient(ops, cut, "fc2 input gradient", cut.h, cut.f);
  weight_gradient(ops, cut, "fc2 weight gradient", cut.h, cut.f);
  ops.memory("activation gradient", OpRole::kElementwise, activation_backward_bytes(cut));
  column_backward(ops, cut, "fc1 input gradient", "fc1 weight gradient", cut.fc1);
  ops.memory("norm 2 gradient", OpRole::kNorm, norm_backward_bytes(cut));
  if (!model.parallel_residual) {
    ops.memory("bias dropout add 1 gradient", OpRole::kElementwise, residual_backward_bytes(cut));
    gather_forward(ops, cut);
  }
  input_gradient(ops, cut, "projection input gradient", cut.h, cut.ad);
  weight_gradient(ops, cut, "projection weight gradient", cut.h, cut.ad);
  core_backward(ops, cut);
  ops.memory("qkv gradient concat", OpRole::kAttention, 2 * cut.qkv_bytes());
  ops.memory("rotary gradient", OpRole::kElementwise, rotary_bytes(cut));
  if (cut.gathers_qkv())
    ops.collective("scatter qkv gradient", CollectiveKind::kReduceScatter, cut.qkv_bytes() * context.tensor);
  if (model.qkv_bias) ops.memory("qkv bias gradient", OpRole::kElementwise, cut.qkv_bytes());
  column_backward(ops, cut, "qkv input gradient", "qkv weight gradient", cut.qkv);
  ops.memory("norm 1 gradient", OpRole::kNorm, norm_backward_bytes(cut));
  return ops.take();
}

}  // namespace foretoken::model
