// Megatron-Core's ways to post the messages of its own schedules (megatron/core/pipeline_parallel/schedules.py).
#pragma once

#include <memory>

#include "sim/step/pipeline/messages.h"

namespace foretoken::step {

/// Returns actions with batched sends and receives that both sides wait for. `program`, here and below, must outlive
/// the result. Precondition: the placement is looped. With several chunks a stage, the program states its warm-up.
[[nodiscard]] std::unique_ptr<ActionSource> megatron_blocking_actions(const schedule::Program& program, Stage stage);

/// Returns the actions of the interleaved schedule with overlap_p2p_comm. Precondition: the same, with several chunks.
[[nodiscard]] std::unique_ptr<ActionSource> megatron_overlapped_actions(const schedule::Program& program, Stage stage);

}  // namespace foretoken::step
