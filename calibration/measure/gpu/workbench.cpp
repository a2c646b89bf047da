// Allocates and fills the memory for measuring.
#include "calibration/measure/gpu/workbench.h"

#include <algorithm>

#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kScratch = 64 << 20;  // cuBLASLt's workspace: twice what cuBLAS recommends for Hopper (32 MiB)
constexpr std::size_t kMostCopies = 1200;

}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "cudaMalloc");
  data_ = static_cast<std::byte*>(data);
}
Memory::~Memory() { cudaFree(data_); }
Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Workbench::Workbench(const Device& device) : device_(device), scratch_(kScratch) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  input_bytes_ = std::min(9 * kGiB, free / 6) / 256 * 256;
  outputs_ = Memory(std::min(28 * kGiB, free / 3) / 256 * 256);
  check(cudaMemset(outputs_.data(), 0, outputs_.bytes()), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaMemset");  // our stream does not wait for the default one
}

const Memory& Workbench::inputs(Precision precision) {
  const auto found = inputs_.find(precision);
  if (found != inputs_.end()) return found->second;
  Memory memory(input_bytes_);
  fill_normal(memory.data(), memory.bytes(), precision, stream());
  stream_.wait();
  return inputs_.emplace(precision, std::move(memory)).first->second;
}

std::optional<int> Workbench::copies(std::size_t input_bytes, std::size_t output_bytes, bool warm) const {
  if (input_bytes > input_bytes_ || output_bytes > outputs_.bytes()) return std::nullopt;
  if (warm) return 1;
  const std::size_t one = std::max<std::size_t>(input_bytes + output_bytes, 256);
  std::size_t copies = std::min(2 * device_.cache_bytes / one + 1, kMostCopies);
  copies = std::min(copies, input_bytes_ / std::max<std::size_t>(input_bytes, 1));
  copies = std::min(copies, outputs_.bytes() / std::max<std::size_t>(output_bytes, 1));
  return static_cast<int>(copies);
}

}  // namespace foretoken::gpu
