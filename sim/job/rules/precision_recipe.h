// The bytes that each parameter takes under mixed precision.
#pragma once

#include "sim/job/job.h"
#include "sim/job/runtime.h"

namespace foretoken::job {

/// Returns the recipe that a runtime uses when training in `precision`. Weights take 2 bytes (fp8 training keeps 16-bit
/// weights), fp32 master weights 4, Adam's moments 8. Gradients take:
///
///   reduced in fp32 (runtime's gradient_bytes 4)               4        18 bytes in all
///   ... and the runtime keeps 16-bit gradients beside them     2 + 4    20
///   fp16, reduced in 16 bit: the optimizer unscales to fp32    2 + 4    20
///   bf16 and fp8, reduced in 16 bit, no fp32 copy              2        16
///
/// Source: Megatron-LM, docs/user-guide/features/dist_optimizer.md (18 and 20 bytes); arXiv:2201.11990 section 2.1 (20
/// bytes with fp32 accumulation of 16-bit gradients).
[[nodiscard]] PrecisionRecipe default_recipe(Precision precision, const Runtime& runtime);

/// Returns the bytes per parameter of a recipe, without sharding.
[[nodiscard]] double bytes_per_parameter(const PrecisionRecipe& recipe);

}  // namespace foretoken::job
