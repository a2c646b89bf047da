// The law that all communication costs share: latency, rate, a square-root term, and corrections from the tables.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Returns V, the bytes that each rank of a ring sends. V / time is the bus bandwidth of nccl-tests. Source:
/// nccl-tests, doc/PERFORMANCE.md.
[[nodiscard]] Bytes ring_bytes(const CollectiveShape& shape);

/// Returns max(x + spread sqrt(x), volume / plateau), with x = volume / bandwidth.
[[nodiscard]] inline Seconds volume_time(Bytes volume, BytesPerSecond bandwidth, double spread,
                                         BytesPerSecond plateau) {
  const double x = (volume / bandwidth).value();
  return std::max(Seconds(x + spread * std::sqrt(x)), volume / plateau);
}

/// Returns log(measured / law) at a payload, or 0 without a correction.
[[nodiscard]] inline double log_ratio(const SizeCorrection& correction, Bytes payload) {
  const std::vector<double>& values = correction.log_ratio;
  if (values.empty()) return 0;
  const double octave = std::log2(std::max(payload.value(), 1.0));
  const double part = (octave - correction.first_log2) / (correction.last_log2 - correction.first_log2);
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto cell = std::min(static_cast<std::size_t>(at), values.size() - 2);
  const double beyond = at - static_cast<double>(cell);
  return (1 - beyond) * values[cell] + beyond * values[cell + 1];
}

/// Returns measured / law at a payload.
[[nodiscard]] inline double size_factor(const SizeCorrection& correction, Bytes payload) {
  return correction.log_ratio.empty() ? 1.0 : std::exp(log_ratio(correction, payload));
}

}  // namespace foretoken::cost
