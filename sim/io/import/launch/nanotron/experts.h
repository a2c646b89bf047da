// Reads the experts of a nanotron configuration.
#pragma once

#include "sim/io/import/launch/nanotron/section.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nanotron {

/// Returns true for the generation whose expert ranks are ranks of data, tensor and context: huggingface/nanotron at
/// 009b8f71, src/nanotron/parallel/context.py (_init_process_group_with_moe). Older ones multiply the GPUs by them.
[[nodiscard]] bool folds_expert_ranks(const Section& config, const Section& parallel);

/// Maps experts, and refuses expert ranks that no scenario has. Sizes and parallel degrees stand in the report.
void map_experts(const Section& config, const Section& parallel, Report& report);

}  // namespace foretoken::io::launch::nanotron
