// The kernels of a layer's attention core: fused or not, and exchanged between ranks that share a sequence.
#pragma once

#include <algorithm>

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/op_writer.h"

namespace foretoken::model {

/// Score matrices of a block of Megatron's fused softmax (megatron/fused_kernels, fused_softmax.py).
inline constexpr std::int64_t kSoftmaxBlock = 4;

/// Sizes of the attention core on one rank.
struct CoreCut : Cut {
  const AttentionCore& core;

  CoreCut(const Cut& cut, const AttentionCore& c) : Cut(cut), core(c) {}

  [[nodiscard]] std::int64_t local_sequence() const { return context.sequence / context.context; }
  [[nodiscard]] std::int64_t batched_heads() const { return context.micro_batch * (core.heads / context.tensor); }
  [[nodiscard]] std::int64_t keys() const { return core.keys_of(context.sequence); }
  [[nodiscard]] double score_elements() const {  // b a/t s s_kv
    return static_cast<double>(batched_heads()) * static_cast<double>(local_sequence()) * static_cast<double>(keys());
  }
  [[nodiscard]] bool fused_softmax() const { return context.fusions.softmax && batched_heads() % kSoftmaxBlock == 0; }
  // Attention products stay 16 bit, in fp16 where the training is, unless attention is quantised.
  [[nodiscard]] Precision core_precision() const {
    if (context.fp8_attention) return Precision::kFp8;
    return wide_precision();
  }
  /// Width of queries, keys and values together, and of the output, on one rank: (a+2g)d/t and ad/t.
  [[nodiscard]] std::int64_t operand_width() const { return core.operand_width() / context.tensor; }
  [[nodiscard]] std::int64_t output_width() const { return core.output_width() / context.tensor; }
  [[nodiscard]] double operand_bytes() const { return kHalf * tokens * static_cast<double>(operand_width()); }
  [[nodiscard]] double key_value_bytes() const {  // K and V of the local tokens
    const double heads = static_cast<double>(std::max<std::int64_t>(1, core.kv_heads / context.tensor));
    return kHalf * tokens * heads * static_cast<double>(core.head_dim + core.values_dim());
  }
};

/// Ranks that share a sequence trade its tokens for heads, and each holds the whole sequence of some heads.
[[nodiscard]] bool trades_tokens_for_heads(const LayerContext& context);
/// Ranks that share a sequence run attention without a mask, too: in a ring, between two parts of the sequence.
[[nodiscard]] bool runs_without_mask(const LayerContext& context);

void core_forward(OpWriter& ops, const Cut& cut, const AttentionCore& core);
void core_backward(OpWriter& ops, const Cut& cut, const AttentionCore& core);

}  // namespace foretoken::model
