// The memory-bound kernels of training. They run near the memory's rate: 16-byte accesses, fp32 arithmetic.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "sim/base/kernel.h"

namespace foretoken::gpu {

using Bf16 = __nv_bfloat16;

/// Rows of `columns` elements each. Columns are a multiple of 8 everywhere.
struct Extent {
  std::int64_t rows = 1, columns = 8;
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Longest row of the kernels that keep a row in registers (norms, softmax).
inline constexpr std::int64_t kLongestRow = 16384;

/// Writes random normal numbers of this standard deviation, the same at every call.
void fill_normal(void* data, std::size_t bytes, Precision precision, cudaStream_t stream, float deviation = 1);

void copy(const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream);
void cast(const float* in, Bf16* out, Extent extent, cudaStream_t stream);
void bias_gelu(const Bf16* in, const Bf16* bias, Bf16* out, Extent extent, cudaStream_t stream);
/// Reads rows of 2 x columns: first the gate, then the other half.
void swiglu(const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream);
/// Computes out = dropout(in) + residual. `mask` gets a byte per element, 1 where the element stays.
void dropout_add(const Bf16* in, const Bf16* residual, Bf16* out, std::uint8_t* mask, float keep, std::uint32_t seed,
                 Extent extent, cudaStream_t stream);

/// Computes the gradient of dropout's input: gradient / keep where the mask is 1, else 0.
void dropout_backward(const Bf16* gradient, const std::uint8_t* mask, Bf16* out, float keep, Extent extent,
                      cudaStream_t stream);
void add(const Bf16* a, const Bf16* b, Bf16* out, Extent extent, cudaStream_t stream);
/// Computes the gradient of bias_gelu's input.
void gelu_backward(const Bf16* gradient, const Bf16* in, const Bf16* bias, Bf16* out, Extent extent,
                   cudaStream_t stream);
/// Computes the gradient of swiglu's input, rows of 2 x columns like it.
void swiglu_backward(const Bf16* gradient, const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream);

/// Tokens as attention sees them: `heads` of `head_dim` for each of `sequence` tokens of each of `batch` sequences.
struct HeadShape {
  std::int64_t batch, sequence, heads, head_dim;
};
/// Takes rows of tokens, each `parts` x heads x head_dim, apart into `parts` tensors [batch, heads, sequence,
/// head_dim]. Parts are at most 3, head_dim is a multiple of 8.
void split_heads(const Bf16* in, Bf16* const* out, int parts, HeadShape shape, cudaStream_t stream);
/// The way back: joins the tensors to rows of tokens.
void merge_heads(const Bf16* const* in, Bf16* out, int parts, HeadShape shape, cudaStream_t stream);

struct AdamState {
  float *master, *first, *second;
  Bf16* weight;
};
struct AdamStep {
  float rate = 1e-4F, beta1 = 0.9F, beta2 = 0.95F, epsilon = 1e-8F, decay = 0.1F;
  float correction1 = 0.1F, correction2 = 0.05F;  ///< 1 - beta^t
};
void adam(const float* gradient, AdamState state, AdamStep step, Extent extent, cudaStream_t stream);

void layer_norm(const Bf16* in, const Bf16* weight, const Bf16* bias, Bf16* out, Extent extent, cudaStream_t stream);
void rms_norm(const Bf16* in, const Bf16* weight, Bf16* out, Extent extent, cudaStream_t stream);
/// Computes the gradient of the norm's input, and adds those of its weight (and bias) to fp32 sums. The order of the
/// additions differs from run to run.
void layer_norm_backward(const Bf16* gradient, const Bf16* in, const Bf16* weight, Bf16* out, float* weight_gradient,
                         float* bias_gradient, Extent extent, cudaStream_t stream);
void rms_norm_backward(const Bf16* gradient, const Bf16* in, const Bf16* weight, Bf16* out, float* weight_gradient,
                       Extent extent, cudaStream_t stream);
/// Computes the softmax of scale x in. Causal: row r uses the columns up to r modulo columns; the rest becomes 0 and is
/// not read.
void masked_softmax(const Bf16* in, Bf16* out, float scale, bool causal, Extent extent, cudaStream_t stream);
/// Computes gradient = scale x probability x (gradient - sum over the row of probability x gradient), in place.
void softmax_backward(const Bf16* probability, Bf16* gradient, float scale, Extent extent, cudaStream_t stream);
/// Computes the loss of each row against its target column, and the gradient of the logits.
void cross_entropy(const Bf16* logits, const std::int32_t* targets, float* loss, Bf16* gradient, Extent extent,
                   cudaStream_t stream);
/// Does nothing, to measure a launch.
void empty(cudaStream_t stream);

}  // namespace foretoken::gpu
