// Memory of a GPU for measuring: random normal inputs per precision, outputs, and places in them for copies of a
// kernel's data.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "calibration/measure/gpu/device.h"
#include "calibration/measure/gpu/stopwatch.h"
#include "sim/base/kernel.h"

namespace foretoken::gpu {

/// Owns device memory.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept;
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Hands out 256-byte aligned pieces of a region, front to back.
class Pieces {
 public:
  explicit Pieces(std::byte* begin) : next_(begin) {}
  template <class T>
  [[nodiscard]] T* take(std::size_t bytes) {
    std::byte* piece = next_;
    next_ += aligned(bytes);
    return reinterpret_cast<T*>(piece);
  }
  [[nodiscard]] static constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

 private:
  std::byte* next_;
};

class Workbench {
 public:
  explicit Workbench(const Device& device);

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  /// Returns inputs, filled when first asked for. Read as fp32, the bf16 inputs are normal numbers, too: a bf16 is the
  /// upper half of an fp32, and the lower half only adds digits.
  [[nodiscard]] const Memory& inputs(Precision precision);
  [[nodiscard]] const Memory& outputs() const { return outputs_; }
  [[nodiscard]] const Memory& scratch() const { return scratch_; }

  /// Returns the number of copies of a kernel's data to rotate over: together more than twice the cache, or one when
  /// `warm`. Returns nothing when one copy does not fit the inputs or outputs.
  [[nodiscard]] std::optional<int> copies(std::size_t input_bytes, std::size_t output_bytes, bool warm = false) const;

 private:
  Device device_;
  Stream stream_;
  std::size_t input_bytes_ = 0;
  std::map<Precision, Memory> inputs_;
  Memory outputs_, scratch_;
};

}  // namespace foretoken::gpu
