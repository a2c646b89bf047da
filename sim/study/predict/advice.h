// Advises a change when a job does not fit.
#pragma once

#include <string>

namespace foretoken::study {

struct Prediction;

/// Returns the change that makes the job fit with the least step time, for the same GPUs and batch. It simulates
/// optimizer sharding, sequence parallelism, recomputation, smaller micro-batches, and their combinations. When none is
/// enough, the text says so.
[[nodiscard]] std::string advise(const Prediction& prediction);

}  // namespace foretoken::study
