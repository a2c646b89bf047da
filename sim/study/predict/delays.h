// The cost of slow and failed hardware: each part repaired in turn, and the step run again.
#pragma once

#include <vector>

#include "sim/report/metrics.h"
#include "sim/report/waterfall.h"

namespace foretoken::study {

struct Prediction;

/// Returns the job with equal GPUs, no jitter and all links at their rates. Ranks stay where they are placed.
[[nodiscard]] job::Job repaired(job::Job job);

/// Returns what the step waits for. First come parts that the job states as slow or failed, the one whose repair gains
/// most first, eight at most, and all others together. Then comes what was drawn, three GPUs or hosts at most and all
/// of it. Last comes everything. The lowered step runs once for each of them, at most fourteen times.
[[nodiscard]] std::vector<report::Delay> delays_of(const Prediction& prediction);

/// Returns the fall from the ideal step to the predicted one. With slow hardware the fall is that of the repaired step,
/// and one more line leads to the prediction.
[[nodiscard]] report::Waterfall waterfall_of(const Prediction& prediction);

}  // namespace foretoken::study
