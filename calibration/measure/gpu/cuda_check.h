// Checks every call of CUDA, cuBLASLt and NCCL. A failure is an exception that names the call.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace foretoken::gpu {

/// A call failed: the GPU, its driver or a library is at fault, or memory is short.
class GpuError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw GpuError(std::string(call) + ": " + cudaGetErrorString(status));
}
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw GpuError(std::string(call) + ": " + cublasLtGetStatusString(status));
}
inline void check(ncclResult_t status, const char* call) {
  if (status != ncclSuccess)
    throw GpuError(std::string(call) + ": " + ncclGetErrorString(status) + " " + ncclGetLastError(nullptr));
}

}  // namespace foretoken::gpu
