// The kernels of a transformer layer in the order in which Megatron issues them.
//
// Shapes follow megatron/core/tensor_parallel/layers.py and transformer_layer.py. T tokens reach a tensor-parallel
// group, R = T/t of them each rank in sequence-parallel regions (R = T without sequence parallelism). Memory-bound
// kernels are counted by the bytes that they read and write once, 16-bit activations; a dropout mask is one byte an
// element. Byte counts per kernel: arXiv:2205.05198 section 4 for what is stored, the kernels' reads and writes on top
// (docs/modeller/layer.md has the table). A backward collective runs beside the GEMM that follows it: the input
// re-gather beside the input gradient, the reduction of the input gradient beside the weight gradient.
#include "sim/model/layer_ops.h"

#include "sim/model/attention_ops.h"
#include "sim/model/layer_cut.h"
#include "sim/model/op_list.h"

namespace foretoken::model {
namespace {

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

// Quantisation around fp8 products as Transformer Engine does it (TransformerEngine d0067d0, pytorch/module/linear.py
// and layernorm_linear.py). The input of a product is read in 16 bit and written in 8; weight gradients read a
// transposed copy, written on the way or, of a tensor that was gathered in 8 bit, by a kernel of its own. A norm writes
// 8 bit itself where the scale is known. Scales of the whole tensor from the tensor itself need it read once more
// first. MXFP8 has no transposed copies: both directions are quantised at once.
double first_look(const Cut& cut) { return cut.context.fp8_recipe == Fp8Recipe::kTensorwise ? 2 : 0; }

void quantise(OpWriter& ops, const Cut& cut, double columns) {
  if (cut.fp8()) ops.memory("quantise", OpRole::kElementwise, (4 + first_look(cut)) * cut.tokens * columns);
}

void quantise_norm_output(OpWriter& ops, const Cut& cut) {
  if (cut.fp8() && first_look(cut) > 0)
    ops.memory("quantise", OpRole::kElementwise, (3 + first_look(cut)) * cut.region * cut.hidden);
}

void quantise_output_gradient(OpWriter& ops, const Cut& cut) {
  if (!cut.context.sequence_parallel)
    quantise(ops, cut, cut.hidden);
  else if (cut.fp8())
    ops.memory("quantise", OpRole::kElementwise, (3 + first_look(cut)) * cut.region * cut.hidden);
}

void transpose_gathered(OpWriter& ops, const Cut& cut) {
  if (cut.fp8() && cut.context.fp8_recipe != Fp8Recipe::kMxfp8)
    ops.memory("transpose", OpRole::kElementwise, 2 * cut.tokens * cut.hidden, BackwardPart::kWeight);
}

bool overlaps(const Cut& cut) {
  return cut.context.sequence_parallel && cut.context.overlap_forward_collectives && cut.context.tensor > 1;
}

// How userbuffers run a GEMM with its collective, as NVIDIA's recipes for 70B to 405B on Hopper state it (NVIDIA/NeMo
// 0594a70, nemo/collections/llm/recipes/tp_overlap_configs/userbuffers.py).
// Ring exchange: a rank computes with its own part of the tokens while the next one arrives; copies take no processors.
Userbuffers ring_exchange(const Cut& cut) {
  return overlaps(cut) ? Userbuffers{.pieces = cut.context.tensor} : Userbuffers{};
}
// Pipeline: four pieces, each reduced and scattered beside the next; num_sm 16 (fc2) and 24 (projection).
constexpr int kReduceScatterPieces = 4;
Userbuffers pipelined(const Cut& cut) {
  return overlaps(cut) ? Userbuffers{.pieces = kReduceScatterPieces, .held_processors = 16} : Userbuffers{};
}
// Bulk: a collective of another tensor beside the whole GEMM; num_sm 2 to 4, 24 beside the weight gradient of qkv.
Userbuffers bulk(const Cut& cut) { return overlaps(cut) ? Userbuffers{.held_processors = 4} : Userbuffers{}; }

void forward_linear(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k,
                    Userbuffers userbuffers) {
  ops.gemm(name, OpRole::kLinear, {.m = cut.T, .n = n, .k = k, .precision = cut.context.precision}, userbuffers);
}

void input_gradient(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k,
                    Userbuffers userbuffers) {
  ops.gemm(name, OpRole::kLinear,
           {.m = cut.T, .n = k, .k = n, .pass = GemmPass::kInputGradient, .precision = cut.context.precision},
           userbuffers);
}

void weight_gradient(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t n, std::int64_t k,
                     Userbuffers userbuffers = {}) {
  const bool fused = cut.context.fused_accumulation;
  ops.gemm(name, OpRole::kLinear,
           {.m = n,
            .n = k,
            .k = cut.T,
            .pass = GemmPass::kWeightGradient,
            .precision = cut.context.precision,
            .accumulates = fused},
           userbuffers);
  if (!fused)
    ops.memory("accumulate gradient", OpRole::kAccumulate,
               cut.context.gradient_accumulation_bytes * static_cast<double>(n) * static_cast<double>(k),
               BackwardPart::kWeight);
}

// Backward of a column-parallel linear: its input gradient must be summed over tensor ranks, its input (with sequence
// parallelism only a shard is kept) gathered again.
void column_backward(OpWriter& ops, const Cut& cut, std::string_view dgrad, std::string_view wgrad, std::int64_t n) {
  const bool beside = cut.context.overlap_backward_collectives;
  quantise(ops, cut, static_cast<double>(n));
  if (cut.context.sequence_parallel) {
    ops.collective("gather input again", CollectiveKind::kAllGather, cut.gathered(), beside, BackwardPart::kWeight);
    input_gradient(ops, cut, dgrad, n, cut.h, bulk(cut));
    transpose_gathered(ops, cut);
    ops.collective("reduce-scatter input gradient", CollectiveKind::kReduceScatter, cut.boundary(), beside);
    weight_gradient(ops, cut, wgrad, n, cut.h, bulk(cut));
    return;
  }
  input_gradient(ops, cut, dgrad, n, cut.h, {});
  transpose_gathered(ops, cut);
  if (beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, cut.boundary(), true);
  weight_gradient(ops, cut, wgrad, n, cut.h);
  if (!beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, cut.boundary());
}

// The last piece of a pipelined reduce-scatter stays behind its GEMM (Megatron-Bridge performance guide).
constexpr double kExposedReduceScatter = 1.0 / kReduceScatterPieces;

void gather_forward(OpWriter& ops, const Cut& cut) {
  if (cut.context.sequence_parallel)
    ops.collective("gather tokens", CollectiveKind::kAllGather, cut.gathered(), overlaps(cut));
}

// A row-parallel linear and the reduction of its output over tensor ranks.
void row_forward(OpWriter& ops, const Cut& cut, std::string_view name, std::int64_t k, bool reduces) {
  quantise(ops, cut, static_cast<double>(k));
  if (reduces && overlaps(cut)) {
    ops.collective("reduce-scatter output beside", CollectiveKind::kReduceScatter,
                   (1 - kExposedReduceScatter) * cut.boundary(), true);
  }
  forward_linear(ops, cut, name, cut.h, k, reduces ? pipelined(cut) : Userbuffers{});
  if (!reduces) return;
  if (overlaps(cut))
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, kExposedReduceScatter * cut.boundary());
  else if (cut.context.sequence_parallel)
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, cut.boundary());
  else
    ops.collective("all-reduce output", CollectiveKind::kAllReduce, cut.boundary());
}

}  // namespace

std::string_view name_of(AttentionKind kind, FlashKernel kernel) {
  if (kind == AttentionKind::kUnfused) return "unfused";
  switch (kernel) {
    case FlashKernel::kFastest:
      return "flash";
    case FlashKernel::kFlash2:
      return "flash-2";
    case FlashKernel::kFlash1:
      return "flash-1";
    case FlashKernel::kTriton:
      return "flash-triton";
  }
  return "flash";
}

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
  quantise_norm_output(ops, cut);
  gather_forward(ops, cut);
  forward_linear(ops, cut, "qkv", cut.qkv, cut.h, ring_exchange(cut));
  if (cut.gathers_qkv()) ops.collective("gather qkv", CollectiveKind::kAllGather, cut.qkv_bytes() * context.tensor);
  ops.memory("rotary embedding", OpRole::kElementwise, rotary_bytes(cut));
  core_forward(ops, cut);
  // With a parallel residual attention and MLP outputs are summed before one reduction.
  row_forward(ops, cut, "projection", cut.ad, !model.parallel_residual);
  if (!model.parallel_residual) {
    ops.memory("bias dropout add 1", OpRole::kElementwise, residual_forward_bytes(cut));
  }
  ops.memory("norm 2", OpRole::kNorm, norm_forward_bytes(cut));
  quantise_norm_output(ops, cut);
  gather_forward(ops, cut);  // also with a parallel residual: fc1 reads norm 2's output
  forward_linear(ops, cut, "fc1", cut.fc1, cut.h, ring_exchange(cut));
  ops.memory("activation", OpRole::kActivation, activation_forward_bytes(cut));
  row_forward(ops, cut, "fc2", cut.f, true);
  ops.memory("bias dropout add 2", OpRole::kElementwise, residual_forward_bytes(cut));
  return ops.take();
}

OpList layer_backward(const Transformer& model, const LayerContext& context) {
  const Cut cut(model, context);
  OpWriter ops(context);
  ops.memory("bias dropout add 2 gradient", OpRole::kElementwise, residual_backward_bytes(cut));
  quantise_output_gradient(ops, cut);
  gather_forward(ops, cut);
  input_gradient(ops, cut, "fc2 input gradient", cut.h, cut.f, ring_exchange(cut));
  if (context.sequence_parallel) transpose_gathered(ops, cut);
  weight_gradient(ops, cut, "fc2 weight gradient", cut.h, cut.f);
  ops.memory("activation gradient", OpRole::kActivation, activation_backward_bytes(cut));
  column_backward(ops, cut, "fc1 input gradient", "fc1 weight gradient", cut.fc1);
  ops.memory("norm 2 gradient", OpRole::kNorm, norm_backward_bytes(cut));
  const bool gathers = !model.parallel_residual;
  if (gathers) {
    ops.memory("bias dropout add 1 gradient", OpRole::kElementwise, residual_backward_bytes(cut));
    quantise_output_gradient(ops, cut);
    gather_forward(ops, cut);
  }
  input_gradient(ops, cut, "projection input gradient", cut.h, cut.ad, gathers ? ring_exchange(cut) : Userbuffers{});
  if (gathers && context.sequence_parallel) transpose_gathered(ops, cut);
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
