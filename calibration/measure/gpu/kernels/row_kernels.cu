// Kernels that reduce over rows. One block has one row, which stays in registers where it fits.
#include <algorithm>
#include <cfloat>
#include <stdexcept>

#include "calibration/measure/gpu/kernels/kernels.h"
#include "calibration/measure/gpu/kernels/pack.cuh"

namespace foretoken::gpu {
namespace {

constexpr int kMostThreads = 256;
constexpr int kWarp = 32;

struct Sum {
  static constexpr float kNeutral = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Max {
  static constexpr float kNeutral = -FLT_MAX;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Reduces over the block and returns the result in every thread. Blocks are whole warps.
template <class Op>
__device__ float over_block(float value, Op op) {
  __shared__ float warps[kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) value = op(value, __shfl_xor_sync(0xffffffffU, value, step));
  __syncthreads();  // the last use of `warps` is over
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = threadIdx.x % kWarp < blockDim.x / kWarp ? warps[threadIdx.x % kWarp] : Op::kNeutral;
  for (int step = kWarp / 2; step > 0; step /= 2) value = op(value, __shfl_xor_sync(0xffffffffU, value, step));
  return value;
}

/// A thread's share of a row: vectors threadIdx, threadIdx + blockDim, ...
template <int kVectors>
struct Row {
  Eight x[kVectors];

  /// Loads the first `end` vectors. The others are not read; they become `other`.
  __device__ void load(const Bf16* row, int end, float other) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
      if (vector < end) {
        x[v] = load8(row, vector);
      } else {
#pragma unroll
        for (int j = 0; j < 8; ++j) x[v].at[j] = other;
      }
    }
  }
  __device__ void store(Bf16* row, int vectors) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
      if (vector < vectors) store8(row, vector, x[v]);
    }
  }
  /// Calls f(value, column) for every element of the row's first `vectors` vectors.
  template <class F>
  __device__ void each(int vectors, F f) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
      if (vector >= vectors) continue;
#pragma unroll
      for (int j = 0; j < 8; ++j) f(x[v].at[j], 8 * vector + j);
    }
  }
};

constexpr float kEpsilon = 1e-5F;

template <int kVectors>
__global__ void layer_norm_kernel(const Bf16* in, const Bf16* weight, const Bf16* bias, Bf16* out, int vectors) {
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * vectors * 8;
  Row<kVectors> row;
  row.load(in + offset, vectors, 0);
  float sum = 0, squares = 0;
  row.each(vectors, [&](float x, int) { sum += x; });
  const float mean = over_block(sum, Sum()) / static_cast<float>(8 * vectors);
  row.each(vectors, [&](float x, int) { squares += (x - mean) * (x - mean); });
  const float scale = rsqrtf(over_block(squares, Sum()) / static_cast<float>(8 * vectors) + kEpsilon);
  Row<kVectors> w, b;
  w.load(weight, vectors, 0);
  b.load(bias, vectors, 0);
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int j = 0; j < 8; ++j) row.x[v].at[j] = (row.x[v].at[j] - mean) * scale * w.x[v].at[j] + b.x[v].at[j];
  row.store(out + offset, vectors);
}

template <int kVectors>
__global__ void rms_norm_kernel(const Bf16* in, const Bf16* weight, Bf16* out, int vectors) {
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * vectors * 8;
  Row<kVectors> row, w;
  row.load(in + offset, vectors, 0);
  float squares = 0;
  row.each(vectors, [&](float x, int) { squares += x * x; });
  const float scale = rsqrtf(over_block(squares, Sum()) / static_cast<float>(8 * vectors) + kEpsilon);
  w.load(weight, vectors, 0);
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int j = 0; j < 8; ++j) row.x[v].at[j] *= scale * w.x[v].at[j];
  row.store(out + offset, vectors);
}

/// Blocks of a norm backward. Each adds its part of the weights' gradients once, so few blocks write little.
constexpr std::int64_t kNormBlocks = 512;
constexpr int kNormThreads = 512;  // a thread holds four values of an element, so a row needs more threads

/// With y = (x - mean) * scale * w, normal = (x - mean) * scale and h = g * w:
/// dx = scale * (h - mean(h) - normal * mean(h * normal)). An RMS norm has no means but the last.
template <int kVectors, bool kMean>
__global__ void __launch_bounds__(kNormThreads)
    norm_backward_kernel(const Bf16* gradient, const Bf16* in, const Bf16* weight, Bf16* out, float* weight_gradient,
                         float* bias_gradient, int vectors, std::int64_t rows) {
  const float inverse = 1 / static_cast<float>(8 * vectors);
  Row<kVectors> of_weight{}, of_bias{};
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::int64_t offset = r * vectors * 8;
    Row<kVectors> x, g;
    x.load(in + offset, vectors, 0);
    g.load(gradient + offset, vectors, 0);
    float sum = 0, squares = 0;
    if (kMean) x.each(vectors, [&](float value, int) { sum += value; });
    const float mean = kMean ? over_block(sum, Sum()) * inverse : 0;
    x.each(vectors, [&](float& value, int) {
      value -= mean;
      squares += value * value;
    });
    const float scale = rsqrtf(over_block(squares, Sum()) * inverse + kEpsilon);
    Row<kVectors> w;  // read again for each row: registers are scarcer than the cache
    w.load(weight, vectors, 0);
    float dot = 0, total = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        float& normal = x.x[v].at[j];
        float& h = g.x[v].at[j];
        normal *= scale;
        of_weight.x[v].at[j] += h * normal;
        if (kMean) of_bias.x[v].at[j] += h;
        h *= w.x[v].at[j];
        dot += h * normal;
        total += h;
      }
    dot = over_block(dot, Sum()) * inverse;
    total = kMean ? over_block(total, Sum()) * inverse : 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
#pragma unroll
      for (int j = 0; j < 8; ++j) g.x[v].at[j] = scale * (g.x[v].at[j] - total - x.x[v].at[j] * dot);
    g.store(out + offset, vectors);
  }
  of_weight.each(vectors, [&](float value, int column) { atomicAdd(weight_gradient + column, value); });
  if (kMean) of_bias.each(vectors, [&](float value, int column) { atomicAdd(bias_gradient + column, value); });
}

template <int kVectors>
__global__ void masked_softmax_kernel(const Bf16* in, Bf16* out, float scale, bool causal, int vectors) {
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * vectors * 8;
  const int columns = 8 * vectors;
  const int visible = causal ? static_cast<int>(blockIdx.x % static_cast<unsigned>(columns)) + 1 : columns;
  Row<kVectors> row;
  row.load(in + offset, (visible + 7) / 8, -FLT_MAX);
  float highest = -FLT_MAX, sum = 0;
  row.each(vectors, [&](float& x, int column) {
    x = column < visible ? x * scale : -FLT_MAX;
    highest = fmaxf(highest, x);
  });
  highest = over_block(highest, Max());
  row.each(vectors, [&](float& x, int column) {
    x = column < visible ? __expf(x - highest) : 0;
    sum += x;
  });
  const float inverse = 1 / over_block(sum, Sum());
  row.each(vectors, [&](float& x, int) { x *= inverse; });
  row.store(out + offset, vectors);
}

template <int kVectors>
__global__ void softmax_backward_kernel(const Bf16* probability, Bf16* gradient, float scale, int vectors) {
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * vectors * 8;
  Row<kVectors> p, g;
  p.load(probability + offset, vectors, 0);
  g.load(gradient + offset, vectors, 0);
  float dot = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int j = 0; j < 8; ++j) dot += p.x[v].at[j] * g.x[v].at[j];
  dot = over_block(dot, Sum());
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int j = 0; j < 8; ++j) g.x[v].at[j] = scale * p.x[v].at[j] * (g.x[v].at[j] - dot);
  g.store(gradient + offset, vectors);
}

/// Vocabularies do not fit in registers. One pass finds the maximum and the sum, rescaled as the maximum grows. A
/// second pass writes the gradient.
__global__ void cross_entropy_kernel(const Bf16* logits, const std::int32_t* targets, float* loss, Bf16* gradient,
                                     int vectors) {
  const std::int64_t offset = static_cast<std::int64_t>(blockIdx.x) * vectors * 8;
  const Bf16* row = logits + offset;
  const int target = targets[blockIdx.x];
  float highest = -FLT_MAX, sum = 0;
  for (int vector = static_cast<int>(threadIdx.x); vector < vectors; vector += static_cast<int>(blockDim.x)) {
    const Eight x = load8(row, vector);
    float higher = highest;
#pragma unroll
    for (int j = 0; j < 8; ++j) higher = fmaxf(higher, x.at[j]);
    sum *= __expf(highest - higher);
    highest = higher;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += __expf(x.at[j] - highest);
  }
  const float top = over_block(highest, Max());
  const float total = over_block(sum * __expf(highest - top), Sum());
  if (threadIdx.x == 0) loss[blockIdx.x] = __logf(total) + top - __bfloat162float(row[target]);
  const float inverse = 1 / total;
  for (int vector = static_cast<int>(threadIdx.x); vector < vectors; vector += static_cast<int>(blockDim.x)) {
    Eight x = load8(row, vector);
#pragma unroll
    for (int j = 0; j < 8; ++j)
      x.at[j] = __expf(x.at[j] - top) * inverse - static_cast<float>(8 * vector + j == target);
    store8(gradient + offset, vector, x);
  }
}

/// The spread of a row over a block.
struct Shape {
  int vectors, threads, per_thread;
};

Shape shape_of(Extent extent, const char* kernel, int most_threads = kMostThreads) {
  if (extent.columns % 8 != 0 || extent.columns < 8 || extent.columns > kLongestRow)
    throw std::invalid_argument(std::string(kernel) + ": columns must be a multiple of 8 up to 16384");
  const int vectors = static_cast<int>(extent.columns / 8);
  const int threads = vectors >= most_threads ? most_threads : (vectors + kWarp - 1) / kWarp * kWarp;
  return {vectors, threads, (vectors + threads - 1) / threads};
}

/// Calls launch with the number of vectors per thread as a compile-time constant.
template <class Launch>
void with_vectors(int per_thread, Launch launch) {
  if (per_thread <= 1) return launch(std::integral_constant<int, 1>());
  if (per_thread <= 2) return launch(std::integral_constant<int, 2>());
  if (per_thread <= 4) return launch(std::integral_constant<int, 4>());
  launch(std::integral_constant<int, 8>());
}

}  // namespace

void layer_norm(const Bf16* in, const Bf16* weight, const Bf16* bias, Bf16* out, Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "layer_norm");
  with_vectors(shape.per_thread, [&](auto vectors) {
    layer_norm_kernel<vectors()>
        <<<static_cast<unsigned>(extent.rows), static_cast<unsigned>(shape.threads), 0, stream>>>(in, weight, bias, out,
                                                                                                  shape.vectors);
  });
  check_launch("layer_norm");
}

void rms_norm(const Bf16* in, const Bf16* weight, Bf16* out, Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "rms_norm");
  with_vectors(shape.per_thread, [&](auto vectors) {
    rms_norm_kernel<vectors()><<<static_cast<unsigned>(extent.rows), static_cast<unsigned>(shape.threads), 0, stream>>>(
        in, weight, out, shape.vectors);
  });
  check_launch("rms_norm");
}

void layer_norm_backward(const Bf16* gradient, const Bf16* in, const Bf16* weight, Bf16* out, float* weight_gradient,
                         float* bias_gradient, Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "layer_norm_backward", kNormThreads);
  with_vectors(shape.per_thread, [&](auto vectors) {
    norm_backward_kernel<vectors(), true>
        <<<static_cast<unsigned>(std::min(extent.rows, kNormBlocks)), static_cast<unsigned>(shape.threads), 0,
           stream>>>(gradient, in, weight, out, weight_gradient, bias_gradient, shape.vectors, extent.rows);
  });
  check_launch("layer_norm_backward");
}

void rms_norm_backward(const Bf16* gradient, const Bf16* in, const Bf16* weight, Bf16* out, float* weight_gradient,
                       Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "rms_norm_backward", kNormThreads);
  with_vectors(shape.per_thread, [&](auto vectors) {
    norm_backward_kernel<vectors(), false>
        <<<static_cast<unsigned>(std::min(extent.rows, kNormBlocks)), static_cast<unsigned>(shape.threads), 0,
           stream>>>(gradient, in, weight, out, weight_gradient, nullptr, shape.vectors, extent.rows);
  });
  check_launch("rms_norm_backward");
}

void masked_softmax(const Bf16* in, Bf16* out, float scale, bool causal, Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "masked_softmax");
  with_vectors(shape.per_thread, [&](auto vectors) {
    masked_softmax_kernel<vectors()>
        <<<static_cast<unsigned>(extent.rows), static_cast<unsigned>(shape.threads), 0, stream>>>(
            in, out, scale, causal, shape.vectors);
  });
  check_launch("masked_softmax");
}

void softmax_backward(const Bf16* probability, Bf16* gradient, float scale, Extent extent, cudaStream_t stream) {
  const Shape shape = shape_of(extent, "softmax_backward");
  with_vectors(shape.per_thread, [&](auto vectors) {
    softmax_backward_kernel<vectors()>
        <<<static_cast<unsigned>(extent.rows), static_cast<unsigned>(shape.threads), 0, stream>>>(probability, gradient,
                                                                                                  scale, shape.vectors);
  });
  check_launch("softmax_backward");
}

void cross_entropy(const Bf16* logits, const std::int32_t* targets, float* loss, Bf16* gradient, Extent extent,
                   cudaStream_t stream) {
  constexpr int kThreads = 512;
  cross_entropy_kernel<<<static_cast<unsigned>(extent.rows), kThreads, 0, stream>>>(
      logits, targets, loss, gradient, static_cast<int>(extent.columns / 8));
  check_launch("cross_entropy");
}

}  // namespace foretoken::gpu
