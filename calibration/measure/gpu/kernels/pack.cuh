// Packs sixteen bytes at a time: eight bf16 numbers as floats, or four floats.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {

struct Eight {
  float at[8];
};

__device__ inline Eight unpack(uint4 raw) {
  Eight values;
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    values.at[2 * i] = pair.x;
    values.at[2 * i + 1] = pair.y;
  }
  return values;
}

__device__ inline uint4 pack(const Eight& values) {
  uint4 raw;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&raw);
#pragma unroll
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(values.at[2 * i], values.at[2 * i + 1]);
  return raw;
}

__device__ inline Eight load8(const Bf16* data, std::int64_t vector) {
  return unpack(reinterpret_cast<const uint4*>(data)[vector]);
}
__device__ inline void store8(Bf16* data, std::int64_t vector, const Eight& values) {
  reinterpret_cast<uint4*>(data)[vector] = pack(values);
}

/// Checks a launch. It fails by its configuration or by an earlier failure.
inline void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(status));
}

}  // namespace foretoken::gpu
