// Everything that a layer's ops need of its model and its cut, spelt once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/model/layer_ops.h"

namespace foretoken::model {

constexpr double kHalf = 2;  // bytes of a 16-bit element

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

  [[nodiscard]] bool fp8() const { return context.precision == Precision::kFp8; }
  // Bytes of a gather of tokens over tensor ranks; inputs of fp8 products are quantised before they travel.
  [[nodiscard]] double gathered() const { return boundary() * (fp8() ? 0.5 : 1.0); }
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

}  // namespace foretoken::model
