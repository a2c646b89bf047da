// The plan of a calibration: shapes without times. Every beginning of it is a fair sample of the whole.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/model/transformer.h"

namespace foretoken::measure {

/// The amount to measure.
struct PlanSize {
  bool quick = false;  ///< a twentieth of the shapes, none of the longest: minutes, not an hour
  bool fp8 = true;     ///< the GPU multiplies fp8
};

/// Returns matrix products. They hold layers and heads of `models` over tensor degrees 1 to 8 and 1k to 16k tokens, as
/// the simulator asks for them. They also hold a grid of powers of two, points off the grid, and batched products of
/// unfused attention.
[[nodiscard]] std::vector<measured::GemmSample> gemm_plan(const std::vector<model::Transformer>& models, PlanSize size);

/// Returns memory-bound kernels over 256 kB to 1 GB, cold and, where `cache` holds them, warm.
[[nodiscard]] std::vector<measured::KernelSample> kernel_plan(Bytes cache, PlanSize size);

/// Returns the names of the kernels in that plan.
[[nodiscard]] const std::vector<std::string_view>& kernel_names();

/// Returns attention forward and backward, head dimensions 64 and 128, sequences 512 to 32k, causal and not. Shapes
/// have 16k tokens of hidden size 2048 (as in the FlashAttention papers), few heads, or grouped key/value heads.
[[nodiscard]] std::vector<measured::AttentionSample> attention_plan(PlanSize size);

/// Returns layers of both families, hidden sizes 1024 to 12288, tensor degrees 1, 2 and 8, forward and backward.
[[nodiscard]] std::vector<measured::LayerSample> layer_plan(PlanSize size);

/// Returns collectives of one group over 1 kB to `largest`, out of place. All-reduce also runs in place.
[[nodiscard]] std::vector<measured::CollectiveSample> collective_plan(GroupShape group, Bytes largest, PlanSize size);

/// Returns the sizes of the groups inside one node: powers of two up to `gpus`, and `gpus`.
[[nodiscard]] std::vector<int> group_sizes(int gpus);

}  // namespace foretoken::measure
