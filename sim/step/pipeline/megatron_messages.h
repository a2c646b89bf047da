// Megatron-Core's ways to post pipeline messages (megatron/core/pipeline_parallel/schedules.py), for its own schedules.
#pragma once

#include <vector>

#include "sim/step/pipeline/messages.h"

namespace foretoken::step {

/// Batched sends and receives that both sides wait for. Precondition: the placement is looped, and with several chunks
/// a stage the program says its warm-up.
[[nodiscard]] std::vector<Action> megatron_blocking_actions(const schedule::Program& program, Stage stage);

/// The interleaved schedule with overlap_p2p_comm. Precondition: the same, with several chunks.
[[nodiscard]] std::vector<Action> megatron_overlapped_actions(const schedule::Program& program, Stage stage);

}  // namespace foretoken::step
