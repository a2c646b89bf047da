// The attention core, fused or not, and the exchanges that context parallelism adds to it.
//
// Context parallelism works as in Transformer Engine (TransformerEngine d0067d0,
// pytorch/attention/dot_product_attention/context_parallel.py). The sequence is cut into 2c pieces, and rank r holds
// pieces r and 2c - 1 - r. A causal mask then leaves every rank the same work. There are three exchanges:
//   ring        c steps; keys and values move to the next rank beside each step. The first step is the causal square of
//               the rank's own tokens. A later step is half the square: all queries meet half of the keys, or half of
//               the queries meet all keys. The parts of the output are then put together.
//   all-gather  keys and values are gathered before the kernel, and their gradients are scattered after it.
//   all-to-all  ranks trade tokens for heads before the kernel and back after it, with a copy on both sides each time.
#include "sim/model/attention_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace foretoken::model {
namespace {

GemmShape batched(const CoreCut& cut, std::int64_t m, std::int64_t n, std::int64_t k, GemmPass pass) {
  return {.m = m, .n = n, .k = k, .batch = cut.batched_heads(), .pass = pass, .precision = cut.core_precision()};
}

// Packed sequences are many short ones: a token sees those of its own sequence.
struct Packing {
  std::int64_t sequences, length;

  explicit Packing(const LayerContext& context) : sequences(context.micro_batch), length(context.sequence) {
    if (context.packed == 0) return;
    sequences = std::max<std::int64_t>(1, std::llround(static_cast<double>(sequences) * static_cast<double>(length) /
                                                       static_cast<double>(context.packed)));
    length = context.packed;
  }
};

// Scores have the width of queries and keys, and outputs the width of values. Where they differ, a kernel of their mean
// width has the same operations forward.
AttentionShape flash_shape(const CoreCut& cut, bool backward) {
  const Packing packing(cut.context);
  return {.batch = packing.sequences,
          .heads = cut.core.heads / cut.context.tensor,
          .kv_heads = std::max<std::int64_t>(1, cut.core.kv_heads / cut.context.tensor),
          .q_length = packing.length / cut.context.context,
          .kv_length = cut.core.keys > 0 ? cut.core.keys : packing.length,
          .head_dim = (cut.core.head_dim + cut.core.values_dim()) / 2,
          .causal = cut.core.causal,
          .backward = backward,
          .precision = cut.core_precision(),
          .kernel = cut.context.flash_kernel,
          .window = cut.core.window < packing.length ? cut.core.window : 0};
}

// The unfused softmax of fp32 copies: its kernels and their bytes for each score. The mask has one byte.
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

// PyTorch's automatic mixed precision: scores are scaled in 16 bit, the fp32 mask makes them fp32, and softmax and
// dropout stay there. The product of values takes a copy in 16 bit.
constexpr std::array<ScoreKernel, 3> kMixedForward{{{"scale scores", 4}, {"mask scores", 6}, {"fp32 softmax", 8}}};
constexpr std::array<ScoreKernel, 3> kMixedBackward{
    {{"fp32 softmax gradient", 12}, {"score gradient to 16 bit", 6}, {"scale gradient", 4}}};
constexpr double kMixedCopy = 6, kMixedDropout = 9, kDropout = 5;

// Elements of 32 bits need no copies. Bytes are of 16-bit elements, as everywhere.
constexpr std::array<ScoreKernel, 3> kPlainForward{{{"scale scores", 4}, {"mask scores", 4}, {"softmax", 4}}};
constexpr std::array<ScoreKernel, 2> kPlainBackward{{{"softmax gradient", 6}, {"scale gradient", 4}}};
constexpr double kPlainDropout = 4.5;

void write(OpWriter& ops, const CoreCut& cut, std::span<const ScoreKernel> kernels) {
  for (const auto& [name, bytes] : kernels) ops.memory(name, OpRole::kAttention, bytes * cut.score_elements());
}

double dropout_bytes(const CoreCut& cut) { return cut.context.fusions.softmax ? kDropout : kMixedDropout; }

// Relative positions: a number a head and distance is added to every score (two reads and a write). Its gradient sums
// those of the scores over the batch.
constexpr double kPositionBias = 6, kPositionGradient = 2;

void softmax_forward(OpWriter& ops, const CoreCut& cut) {
  if (cut.core.position_bias) ops.memory("add position bias", OpRole::kAttention, kPositionBias * cut.score_elements());
  if (cut.context.fusions.any_softmax && !cut.core.dropout)
    return ops.memory("softmax", OpRole::kAttention, 4 * cut.score_elements());
  if (is_wide(cut.context.precision)) {
    write(ops, cut, kPlainForward);
    if (cut.core.dropout) ops.memory("attention dropout", OpRole::kAttention, kPlainDropout * cut.score_elements());
    return;
  }
  const bool mixed = !cut.context.fusions.softmax;
  if (cut.fused_softmax())
    ops.memory("softmax", OpRole::kAttention, 4 * cut.score_elements());
  else
    write(ops, cut, mixed ? std::span<const ScoreKernel>(kMixedForward) : kSoftmaxForward);
  if (cut.core.dropout) ops.memory("attention dropout", OpRole::kAttention, dropout_bytes(cut) * cut.score_elements());
  if (mixed) ops.memory("softmax to 16 bit", OpRole::kAttention, kMixedCopy * cut.score_elements());
}

void plain_softmax_backward(OpWriter& ops, const CoreCut& cut) {
  if (cut.core.dropout)
    ops.memory("attention dropout gradient", OpRole::kAttention, kPlainDropout * cut.score_elements());
  write(ops, cut, kPlainBackward);
  if (cut.core.position_bias)
    ops.memory("position bias gradient", OpRole::kAttention, kPositionGradient * cut.score_elements());
}

void softmax_backward(OpWriter& ops, const CoreCut& cut) {
  if (is_wide(cut.context.precision)) return plain_softmax_backward(ops, cut);
  const bool mixed = !cut.context.fusions.softmax;
  if (mixed) ops.memory("softmax gradient to fp32", OpRole::kAttention, kMixedCopy * cut.score_elements());
  if (cut.core.dropout)
    ops.memory("attention dropout gradient", OpRole::kAttention, dropout_bytes(cut) * cut.score_elements());
  if (cut.fused_softmax())
    ops.memory("softmax gradient", OpRole::kAttention, 6 * cut.score_elements());
  else
    write(ops, cut, mixed ? std::span<const ScoreKernel>(kMixedBackward) : kSoftmaxBackward);
  if (cut.core.position_bias)
    ops.memory("position bias gradient", OpRole::kAttention, kPositionGradient * cut.score_elements());
}

double output_elements(const CoreCut& cut) { return cut.tokens * static_cast<double>(cut.output_width()); }

// Returns the shape of step `step` of a ring. A later step has two forms. The form with fewer thread blocks counts,
// because every rank waits for the slowest.
AttentionShape ring_step(const CoreCut& cut, int step, bool backward) {
  AttentionShape shape = flash_shape(cut, backward);
  shape.kv_length = shape.q_length;
  if (step == 0 || !cut.core.causal) return shape;
  shape.causal = false;
  (backward ? shape.kv_length : shape.q_length) /= 2;
  return shape;
}

void ring_forward(OpWriter& ops, const CoreCut& cut) {
  const int steps = cut.context.context;
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) ops.ring_message(Axis::kContext, "pass keys and values on", cut.key_value_bytes(), true);
    ops.attention("flash attention", ring_step(cut, step, false));
  }
  // The first part is scaled (a read, a write). Every later part is added (two reads, a write).
  ops.memory("attention parts", OpRole::kAttention, (4 + 6.0 * (steps - 1)) * output_elements(cut));
}

void ring_backward(OpWriter& ops, const CoreCut& cut) {
  const int steps = cut.context.context;
  for (int step = 0; step < steps; ++step) {
    // Keys and values go round again. The gradients gathered so far go with them.
    if (step + 1 < steps)
      ops.ring_message(Axis::kContext, "pass keys, values and gradients on",
                       (step == 0 ? 1 : 2) * cut.key_value_bytes(), true);
    ops.attention("flash attention backward", ring_step(cut, step, true));
  }
  ops.ring_message(Axis::kContext, "bring gradients home", cut.key_value_bytes(), false);
  ops.memory("attention gradient parts", OpRole::kAttention,
             6.0 * (steps - 1) * (output_elements(cut) + cut.key_value_bytes() / kHalf));
}

// After trading tokens for heads, a rank holds the whole sequence of its heads.
AttentionShape whole_sequence(const CoreCut& cut, bool backward) {
  AttentionShape shape = flash_shape(cut, backward);
  shape.heads /= cut.context.context;
  shape.kv_heads = std::max<std::int64_t>(1, shape.kv_heads / cut.context.context);
  shape.q_length = shape.kv_length;
  return shape;
}

void trade(OpWriter& ops, const char* name, double bytes) {
  ops.memory("sort for all-to-all", OpRole::kAttention, 2 * bytes);
  ops.collective_over(Axis::kContext, name, CollectiveKind::kAllToAll, bytes);
  ops.memory("sort after all-to-all", OpRole::kAttention, 2 * bytes);
}

// A kernel reads 16 bit and writes 8.
constexpr double kQuantiseBytes = 3;

void flash_forward(OpWriter& ops, const CoreCut& cut) {
  if (cut.context.fp8_attention)
    ops.memory("quantise queries, keys and values", OpRole::kAttention, kQuantiseBytes * cut.operand_bytes() / kHalf);
  const int ranks = cut.context.context;
  const double output = kHalf * output_elements(cut);
  if (ranks == 1) {
    ops.attention("flash attention", flash_shape(cut, false));
  } else if (cut.context.exchange == ContextExchange::kRing) {
    ring_forward(ops, cut);
  } else if (cut.context.exchange == ContextExchange::kAllGather) {
    ops.collective_over(Axis::kContext, "gather keys and values", CollectiveKind::kAllGather,
                        cut.key_value_bytes() * ranks);
    ops.attention("flash attention", flash_shape(cut, false));
  } else {
    trade(ops, "tokens for heads", cut.operand_bytes());
    ops.attention("flash attention", whole_sequence(cut, false));
    trade(ops, "heads for tokens", output);
  }
}

void flash_backward(OpWriter& ops, const CoreCut& cut) {
  if (cut.context.fp8_attention)
    ops.memory("quantise output gradient", OpRole::kAttention, kQuantiseBytes * output_elements(cut));
  const int ranks = cut.context.context;
  const double output = kHalf * output_elements(cut);
  if (ranks == 1) {
    ops.attention("flash attention backward", flash_shape(cut, true));
  } else if (cut.context.exchange == ContextExchange::kRing) {
    ring_backward(ops, cut);
  } else if (cut.context.exchange == ContextExchange::kAllGather) {
    ops.collective_over(Axis::kContext, "gather keys and values again", CollectiveKind::kAllGather,
                        cut.key_value_bytes() * ranks);
    ops.attention("flash attention backward", flash_shape(cut, true));
    ops.collective_over(Axis::kContext, "scatter gradients", CollectiveKind::kReduceScatter,
                        cut.key_value_bytes() * ranks);
  } else {
    trade(ops, "output gradient: tokens for heads", output);
    ops.attention("flash attention backward", whole_sequence(cut, true));
    trade(ops, "gradients: heads for tokens", cut.operand_bytes());
  }
}

void unfused_forward(OpWriter& ops, const CoreCut& cut) {
  const std::int64_t s = cut.local_sequence(), kv = cut.keys();
  const double context_copy = 4 * cut.tokens * static_cast<double>(cut.output_width());
  if (cut.core.kv_heads < cut.core.heads)  // keys and values are repeated for every query head
    ops.memory("repeat keys and values", OpRole::kAttention, 2 * context_copy);
  ops.gemm("scores", OpRole::kAttention, batched(cut, s, kv, cut.core.head_dim, GemmPass::kForward));
  softmax_forward(ops, cut);
  ops.gemm("values", OpRole::kAttention, batched(cut, s, cut.core.values_dim(), kv, GemmPass::kForward));
  ops.memory("context copy", OpRole::kAttention, context_copy);
}

void unfused_backward(OpWriter& ops, const CoreCut& cut) {
  const std::int64_t s = cut.local_sequence(), kv = cut.keys();
  const std::int64_t d = cut.core.head_dim, values = cut.core.values_dim();
  ops.memory("context gradient copy", OpRole::kAttention, 4 * cut.tokens * static_cast<double>(cut.output_width()));
  ops.gemm("probability gradient", OpRole::kAttention, batched(cut, s, kv, values, GemmPass::kInputGradient));
  ops.gemm("value gradient", OpRole::kAttention, batched(cut, kv, values, s, GemmPass::kInputGradient));
  softmax_backward(ops, cut);
  ops.gemm("query gradient", OpRole::kAttention, batched(cut, s, d, kv, GemmPass::kInputGradient));
  ops.gemm("key gradient", OpRole::kAttention, batched(cut, kv, d, s, GemmPass::kInputGradient));
}

}  // namespace

bool trades_tokens_for_heads(const LayerContext& context) {
  return context.context > 1 && context.exchange == ContextExchange::kAllToAll;
}

bool runs_without_mask(const LayerContext& context) {
  return context.context > 1 && context.exchange == ContextExchange::kRing;
}

void core_forward(OpWriter& ops, const Cut& whole, const AttentionCore& core) {
  const CoreCut cut(whole, core);
  if (cut.context.attention == AttentionKind::kFlash)
    flash_forward(ops, cut);
  else
    unfused_forward(ops, cut);
}

void core_backward(OpWriter& ops, const Cut& whole, const AttentionCore& core) {
  const CoreCut cut(whole, core);
  if (cut.context.attention == AttentionKind::kFlash)
    flash_backward(ops, cut);
  else
    unfused_backward(ops, cut);
}

}  // namespace foretoken::model
