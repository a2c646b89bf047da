// Elementwise kernels: one thread for each sixteen bytes of output.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "calibration/measure/gpu/kernels/kernels.h"
#include "calibration/measure/gpu/kernels/pack.cuh"

namespace foretoken::gpu {
namespace {

constexpr int kThreads = 256;

__device__ std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Checks a count that kernels divide by. 64-bit division would cost more than the memory access.
unsigned short_count(std::int64_t count) {
  if (count > std::int64_t{1} << 31) throw std::invalid_argument("more than 2^31 vectors in one kernel");
  return static_cast<unsigned>(count);
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

/// Mixes the bits of a counter well (splitmix64's finaliser).
__device__ std::uint64_t hash(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// Draws two independent normal numbers (Box-Muller).
__device__ float2 normal_pair(std::uint64_t counter) {
  const std::uint64_t bits = hash(counter * 0x9e3779b97f4a7c15ULL + 1);
  const float u = (static_cast<float>(bits >> 40) + 1) * 0x1p-24F;  // (0, 1]
  const float v = static_cast<float>((bits >> 8) & 0xffffff) * 0x1p-24F;
  const float radius = sqrtf(-2 * __logf(u));
  float sine, cosine;
  __sincosf(6.2831853F * v, &sine, &cosine);
  return {radius * cosine, radius * sine};
}

template <class T>
__global__ void fill_kernel(T* data, float deviation, std::int64_t pairs) {
  const std::int64_t i = thread_index();
  if (i >= pairs) return;
  const float2 normal = normal_pair(static_cast<std::uint64_t>(i));
  data[2 * i] = T(deviation * normal.x);
  data[2 * i + 1] = T(deviation * normal.y);
}

template <class T>
void fill_as(void* data, std::size_t bytes, float deviation, cudaStream_t stream) {
  const auto pairs = static_cast<std::int64_t>(bytes / sizeof(T) / 2);
  if (pairs > 0) fill_kernel<<<blocks_for(pairs), kThreads, 0, stream>>>(static_cast<T*>(data), deviation, pairs);
  check_launch("fill_normal");
}

__global__ void copy_kernel(const uint4* in, uint4* out, std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i < vectors) out[i] = in[i];
}

__global__ void cast_kernel(const float4* in, Bf16* out, std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i >= vectors) return;
  const float4 a = in[2 * i], b = in[2 * i + 1];
  store8(out, i, {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}});
}

/// Computes GELU by tanh, as in Megatron-LM's fused kernel.
__device__ float gelu(float x) {
  const float u = 0.79788456F * x * (1 + 0.044715F * x * x);
  return x * (1 - __fdividef(1, __expf(2 * u) + 1));  // (1 + tanh u) / 2; tanhf would make this bound by arithmetic
}

__global__ void bias_gelu_kernel(const Bf16* in, const Bf16* bias, Bf16* out, unsigned vectors, unsigned row_vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  Eight x = load8(in, i);
  const Eight b = load8(bias, i % row_vectors);
#pragma unroll
  for (int j = 0; j < 8; ++j) x.at[j] = gelu(x.at[j] + b.at[j]);
  store8(out, i, x);
}

__global__ void swiglu_kernel(const Bf16* in, Bf16* out, unsigned vectors, unsigned row_vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const std::int64_t first = std::int64_t{i / row_vectors} * 2 * row_vectors + i % row_vectors;
  const Eight gate = load8(in, first), up = load8(in, first + row_vectors);
  Eight y;
#pragma unroll
  for (int j = 0; j < 8; ++j) y.at[j] = __fdividef(gate.at[j], 1 + __expf(-gate.at[j])) * up.at[j];
  store8(out, i, y);
}

__global__ void dropout_add_kernel(const Bf16* in, const Bf16* residual, Bf16* out, uint2* mask, float keep,
                                   std::uint32_t seed, std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i >= vectors) return;
  const Eight x = load8(in, i);
  Eight y = load8(residual, i);
  const auto threshold = static_cast<std::uint32_t>(keep * 65536.0F);
  const std::uint64_t counter = static_cast<std::uint64_t>(i) * 2 + (static_cast<std::uint64_t>(seed) << 40);
  const std::uint64_t bits[2] = {hash(counter + 1), hash(counter + 2)};
  std::uint32_t mask_bytes[2] = {0, 0};
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const bool keeps = (bits[j / 4] >> (16 * (j % 4)) & 0xffff) < threshold;
    mask_bytes[j / 4] |= static_cast<std::uint32_t>(keeps) << (8 * (j % 4));
    if (keeps) y.at[j] += x.at[j] / keep;
  }
  store8(out, i, y);
  mask[i] = {mask_bytes[0], mask_bytes[1]};
}

__global__ void dropout_backward_kernel(const Bf16* gradient, const uint2* mask, Bf16* out, float keep,
                                        std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i >= vectors) return;
  Eight g = load8(gradient, i);
  const uint2 kept = mask[i];
  const float scale = 1 / keep;
#pragma unroll
  for (int j = 0; j < 8; ++j) g.at[j] *= ((j < 4 ? kept.x : kept.y) >> (8 * (j % 4)) & 0xff) != 0 ? scale : 0;
  store8(out, i, g);
}

__global__ void add_kernel(const Bf16* a, const Bf16* b, Bf16* out, std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i >= vectors) return;
  Eight x = load8(a, i);
  const Eight y = load8(b, i);
#pragma unroll
  for (int j = 0; j < 8; ++j) x.at[j] += y.at[j];
  store8(out, i, x);
}

/// Differentiates gelu().
__device__ float gelu_slope(float x) {
  const float square = x * x;
  const float share =
      1 - __fdividef(1, __expf(2 * 0.79788456F * x * (1 + 0.044715F * square)) + 1);  // (1 + tanh u) / 2
  return share + 2 * x * share * (1 - share) * 0.79788456F * (1 + 3 * 0.044715F * square);
}

__global__ void gelu_backward_kernel(const Bf16* gradient, const Bf16* in, const Bf16* bias, Bf16* out,
                                     unsigned vectors, unsigned row_vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  Eight g = load8(gradient, i);
  const Eight x = load8(in, i), b = load8(bias, i % row_vectors);
#pragma unroll
  for (int j = 0; j < 8; ++j) g.at[j] *= gelu_slope(x.at[j] + b.at[j]);
  store8(out, i, g);
}

__global__ void swiglu_backward_kernel(const Bf16* gradient, const Bf16* in, Bf16* out, unsigned vectors,
                                       unsigned row_vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const std::int64_t first = std::int64_t{i / row_vectors} * 2 * row_vectors + i % row_vectors;
  const Eight g = load8(gradient, i);
  Eight gate = load8(in, first), up = load8(in, first + row_vectors);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float x = gate.at[j], sigmoid = __fdividef(1, 1 + __expf(-x));
    gate.at[j] = g.at[j] * up.at[j] * sigmoid * (1 + x * (1 - sigmoid));
    up.at[j] = g.at[j] * x * sigmoid;
  }
  store8(out, first, gate);
  store8(out, first + row_vectors, up);
}

/// The tensors of split_heads and merge_heads, and the divisors that turn a vector's number into its place.
struct Heads {
  uint4* part[3];
  unsigned head_vectors, heads, parts, sequence;
};

/// Copies between rows of tokens and tensors by heads: one thread for each vector of the rows.
template <bool kSplit>
__global__ void heads_kernel(uint4* rows, Heads to, unsigned vectors) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const unsigned column = i % to.head_vectors, unit = i / to.head_vectors;
  const unsigned head = unit % to.heads, part = unit / to.heads % to.parts, token = unit / to.heads / to.parts;
  const unsigned batch = token / to.sequence, place = token % to.sequence;
  uint4* other =
      to.part[part] + ((std::int64_t{batch} * to.heads + head) * to.sequence + place) * to.head_vectors + column;
  if (kSplit)
    *other = rows[i];
  else
    rows[i] = *other;
}

template <bool kSplit>
void move_heads(uint4* rows, Heads to, HeadShape shape, cudaStream_t stream) {
  const std::int64_t vectors = shape.batch * shape.sequence * to.parts * shape.heads * shape.head_dim / 8;
  to.head_vectors = short_count(shape.head_dim / 8);
  to.heads = short_count(shape.heads);
  to.sequence = short_count(shape.sequence);
  heads_kernel<kSplit><<<blocks_for(vectors), kThreads, 0, stream>>>(rows, to, short_count(vectors));
  check_launch(kSplit ? "split_heads" : "merge_heads");
}

__device__ void adam_one(float gradient, float& master, float& first, float& second, const AdamStep& step) {
  first = step.beta1 * first + (1 - step.beta1) * gradient;
  second = step.beta2 * second + (1 - step.beta2) * gradient * gradient;
  const float change = first / step.correction1 / (sqrtf(second / step.correction2) + step.epsilon);
  master -= step.rate * (change + step.decay * master);
}

__global__ void adam_kernel(const float4* gradient, float4* master, float4* first, float4* second, uint2* weight,
                            AdamStep step, std::int64_t vectors) {
  const std::int64_t i = thread_index();
  if (i >= vectors) return;
  const float4 g = gradient[i];
  float4 w = master[i], m = first[i], v = second[i];
  adam_one(g.x, w.x, m.x, v.x, step);
  adam_one(g.y, w.y, m.y, v.y, step);
  adam_one(g.z, w.z, m.z, v.z, step);
  adam_one(g.w, w.w, m.w, v.w, step);
  master[i] = w;
  first[i] = m;
  second[i] = v;
  uint2 half;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&half);
  pairs[0] = __floats2bfloat162_rn(w.x, w.y);
  pairs[1] = __floats2bfloat162_rn(w.z, w.w);
  weight[i] = half;
}

__global__ void empty_kernel() {}

}  // namespace

void fill_normal(void* data, std::size_t bytes, Precision precision, cudaStream_t stream, float deviation) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return fill_as<float>(data, bytes, deviation, stream);
    case Precision::kFp16:
      return fill_as<__half>(data, bytes, deviation, stream);
    case Precision::kBf16:
      return fill_as<Bf16>(data, bytes, deviation, stream);
    case Precision::kFp8:
      return fill_as<__nv_fp8_e4m3>(data, bytes, deviation, stream);
    case Precision::kFp8Block:
    case Precision::kNvfp4:
    case Precision::kInt8:
      break;
  }
  throw std::invalid_argument("inputs of this precision are not measured: " + std::string(name_of(precision)));
}

void copy(const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  copy_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(reinterpret_cast<const uint4*>(in),
                                                            reinterpret_cast<uint4*>(out), vectors);
  check_launch("copy");
}

void cast(const float* in, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  cast_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(reinterpret_cast<const float4*>(in), out, vectors);
  check_launch("cast");
}

void bias_gelu(const Bf16* in, const Bf16* bias, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  bias_gelu_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(in, bias, out, short_count(vectors),
                                                                 short_count(extent.columns / 8));
  check_launch("bias_gelu");
}

void swiglu(const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  swiglu_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(in, out, short_count(vectors),
                                                              short_count(extent.columns / 8));
  check_launch("swiglu");
}

void dropout_add(const Bf16* in, const Bf16* residual, Bf16* out, std::uint8_t* mask, float keep, std::uint32_t seed,
                 Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  dropout_add_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(in, residual, out, reinterpret_cast<uint2*>(mask),
                                                                   keep, seed, vectors);
  check_launch("dropout_add");
}

void dropout_backward(const Bf16* gradient, const std::uint8_t* mask, Bf16* out, float keep, Extent extent,
                      cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  dropout_backward_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(gradient, reinterpret_cast<const uint2*>(mask),
                                                                        out, keep, vectors);
  check_launch("dropout_backward");
}

void add(const Bf16* a, const Bf16* b, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  add_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(a, b, out, vectors);
  check_launch("add");
}

void gelu_backward(const Bf16* gradient, const Bf16* in, const Bf16* bias, Bf16* out, Extent extent,
                   cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  gelu_backward_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(gradient, in, bias, out, short_count(vectors),
                                                                     short_count(extent.columns / 8));
  check_launch("gelu_backward");
}

void swiglu_backward(const Bf16* gradient, const Bf16* in, Bf16* out, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 8;
  swiglu_backward_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(gradient, in, out, short_count(vectors),
                                                                       short_count(extent.columns / 8));
  check_launch("swiglu_backward");
}

void split_heads(const Bf16* in, Bf16* const* out, int parts, HeadShape shape, cudaStream_t stream) {
  Heads to{};
  to.parts = static_cast<unsigned>(parts);
  for (int i = 0; i < parts; ++i) to.part[i] = reinterpret_cast<uint4*>(out[i]);
  move_heads<true>(const_cast<uint4*>(reinterpret_cast<const uint4*>(in)), to, shape, stream);
}

void merge_heads(const Bf16* const* in, Bf16* out, int parts, HeadShape shape, cudaStream_t stream) {
  Heads to{};
  to.parts = static_cast<unsigned>(parts);
  for (int i = 0; i < parts; ++i) to.part[i] = const_cast<uint4*>(reinterpret_cast<const uint4*>(in[i]));
  move_heads<false>(reinterpret_cast<uint4*>(out), to, shape, stream);
}

void adam(const float* gradient, AdamState state, AdamStep step, Extent extent, cudaStream_t stream) {
  const std::int64_t vectors = extent.elements() / 4;
  adam_kernel<<<blocks_for(vectors), kThreads, 0, stream>>>(
      reinterpret_cast<const float4*>(gradient), reinterpret_cast<float4*>(state.master),
      reinterpret_cast<float4*>(state.first), reinterpret_cast<float4*>(state.second),
      reinterpret_cast<uint2*>(state.weight), step, vectors);
  check_launch("adam");
}

void empty(cudaStream_t stream) {
  empty_kernel<<<1, 1, 0, stream>>>();
  check_launch("empty");
}

}  // namespace foretoken::gpu
