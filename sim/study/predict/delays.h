// Measures the cost of slow and failed hardware: repairs each part in turn, and runs the step again.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/metrics.h"
#include "sim/report/waterfall.h"

namespace foretoken::study {

struct Prediction;
enum class Delays : std::uint8_t;

/// Returns the job with equal GPUs, no jitter and all links at their rates. Ranks stay where they are placed.
[[nodiscard]] job::Job repaired(job::Job job);

/// Returns the slow hardware that the step waits for. `kTogether` has the last entry alone. `kEach` has, in this order:
///   1. at most eight parts that the job states as slow or failed, the largest gain first, then all others together;
///   2. at most three GPUs or hosts that were drawn, then all drawn ones together;
///   3. everything slow.
/// The lowered step runs once for each of them, at most fourteen times.
[[nodiscard]] std::vector<report::Delay> delays_of(const Prediction& prediction, Delays which);

/// Returns the waterfall from the ideal step to the predicted one. With slow hardware it is the waterfall of the
/// repaired step, with one more line up to the prediction.
[[nodiscard]] report::Waterfall waterfall_of(const Prediction& prediction);

}  // namespace foretoken::study
