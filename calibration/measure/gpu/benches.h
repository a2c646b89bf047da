// Measurements on one GPU: a shape in, its time out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "calibration/measure/gpu/product.h"
#include "calibration/measure/gpu/workbench.h"

namespace foretoken::gpu {

/// Keeps the GPU busy until its clocks have left their idle state.
void warm_up(Workbench& bench, const CublasLt& library);

/// Times a product. Returns nothing when the matrices do not fit the memory, or cuBLASLt has no algorithm.
[[nodiscard]] std::optional<measured::GemmSample> time_gemm(Workbench& bench, const CublasLt& library,
                                                            measured::GemmSample sample);

/// Times a kernel. Returns nothing when its data do not fit.
[[nodiscard]] std::optional<measured::KernelSample> time_kernel(Workbench& bench, measured::KernelSample sample);

/// Times attention of batched products and a softmax kernel ("composed"). Forward: S = Q K^T, softmax, O = P V.
/// Backward: the four products and the softmax's gradient, from a stored P. Unlike a fused kernel it writes the scores
/// to memory, and computes the masked half, too.
///
/// Returns nothing with fewer key/value heads than heads, rows longer than 16384, or too little memory.
[[nodiscard]] std::optional<measured::AttentionSample> time_composed_attention(Workbench& bench,
                                                                               const CublasLt& library,
                                                                               measured::AttentionSample sample);

/// Times a whole layer as layer_work() lists it, in a graph, at the clocks of a long run. Returns nothing when its
/// tensors do not fit the free memory, or one of its kernels cannot run.
[[nodiscard]] std::optional<measured::LayerSample> time_layer(Workbench& bench, const CublasLt& library,
                                                              measured::LayerSample sample);

/// Lists the costs of launching and copying; time_host() measures one of them.
[[nodiscard]] std::vector<measured::HostSample> host_plan(bool quick);
[[nodiscard]] std::optional<measured::HostSample> time_host(Workbench& bench, measured::HostSample sample);

/// Runs one large product for `length` without a pause. It records the rate and the sensors every 10 ms at first, then
/// every 100 ms. It stops early when `stopped` says so, and then returns nothing.
[[nodiscard]] std::vector<measured::ClockSample> sustained_run(Workbench& bench, const CublasLt& library,
                                                               Precision precision, Seconds length,
                                                               const std::function<bool()>& stopped);
/// Returns the name of the work in the samples of that run.
[[nodiscard]] std::string sustained_work(Precision precision);

}  // namespace foretoken::gpu
