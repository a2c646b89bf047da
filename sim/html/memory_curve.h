// Live bytes of a stage over the step, thinned to what a drawing can show.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/html/report_data.h"

namespace foretoken::html {

/// The largest values within one of equal stretches of the step.
struct MemoryBin {
  double activations = 0, total = 0;  ///< bytes; total with short-lived tensors on top
};

/// Weights, gradients, optimizer state and buffers of `stage`: what stays through the step.
[[nodiscard]] double static_bytes(const ReportData& data, std::size_t stage);

/// `bins` stretches from the step's start to its end, without the static bytes.
[[nodiscard]] std::vector<MemoryBin> memory_bins(const ReportData& data, std::size_t stage, std::size_t bins);

}  // namespace foretoken::html
