// The memory traffic of the kernels that are measured.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/units.h"

namespace foretoken::measured {

/// Returns the bytes that a kernel reads and writes on rows x columns elements, each once. Throws
/// std::invalid_argument for a name that is not in the table of kernel_work.cpp.
[[nodiscard]] Bytes kernel_bytes(std::string_view kernel, std::int64_t rows, std::int64_t columns);
/// Returns the bytes of one element, without those of weights and biases.
[[nodiscard]] double bytes_per_element(std::string_view kernel);

}  // namespace foretoken::measured
