// What slow and failed hardware costs a step: each part mended in turn, and simulated anew.
#pragma once

#include "sim/report/waterfall.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// The scenario with equal GPUs, no jitter and all links at their rates. Ranks stay where they are placed.
[[nodiscard]] job::Job mended(job::Job job);

/// Fills metrics.delays: what the step waits for. First parts that the scenario states as slow or failed, the one
/// whose mending gains most first, eight at most, and all others together; then what was drawn, three GPUs or hosts at
/// most and all of it; then everything. The lowered step runs once for each of them, at most fourteen times.
void add_delays(Simulation& simulation);

/// From the ideal step to the predicted one. With slow hardware the fall is that of the mended step, and one more line
/// leads to the prediction.
[[nodiscard]] report::Waterfall waterfall_of(const Simulation& simulation);

}  // namespace foretoken::study
