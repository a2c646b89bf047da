// Time of the all-reduce of inference engines: one kernel in which every GPU of a node reads its neighbours' memory.
#pragma once

#include "sim/cost/inference_laws.h"

namespace foretoken::cost {

/// Time of an all-reduce of `payload` bytes, those of one rank, among `ranks` GPUs of a node.
///
///   t = correction(payload) (latency + 2 (ranks-1)/ranks payload / bandwidth)
///
/// Source: constants are fitted on tables of engines' own kernels, replayed in CUDA graphs. Groups between two measured
/// sizes take the larger; larger groups keep the largest measured latency and bus bandwidth.
/// Holds for: GPUs with NVLink. Error: the law's evidence. Precondition: ranks >= 1; `laws` is not empty, and ascends.
[[nodiscard]] Seconds custom_all_reduce_time(Bytes payload, int ranks, const std::vector<CustomAllReduceLaw>& laws);

}  // namespace foretoken::cost
