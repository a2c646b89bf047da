// What to change when a job does not fit.
#pragma once

#include <string>

namespace foretoken::study {

struct Prediction;

/// The change that makes `simulation` fit at the least step time, among those that keep the GPUs and the batch:
/// sharding the optimizer, sequence parallelism, recomputation, and a smaller micro-batch, alone and together. Says so
/// when none is enough. Each candidate is simulated.
[[nodiscard]] std::string advise(const Prediction& prediction);

}  // namespace foretoken::study
