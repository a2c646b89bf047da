// Interleaved 1F1B as Megatron-Core issues it: several model chunks a stage, a smaller bubble, more messages.
#pragma once

#include <optional>
#include <string>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// The op list of every stage, in issue order: warm up, one forward one backward, drain. It goes over virtual
/// micro-batches (one chunk's pass over one micro-batch). Stage r warms up with min(2(p-1-r) + (v-1)G, m v) forwards.
/// Source: arXiv:2104.04473 section 2.2; Megatron-Core schedules.py, get_schedule_table and get_pp_rank_microbatches.
/// Precondition: `interleaved_1f1b_group_rule` finds no fault. One chunk or one stage is legal here; Megatron itself
/// does not interleave then.
[[nodiscard]] Program interleaved_1f1b(PipelineShape shape);

/// Returns all ops of one kind in the order of virtual micro-batches. Backwards go through the chunks in reverse.
/// Precondition: 0 <= G <= m.
[[nodiscard]] StageProgram virtual_microbatches(OpKind kind, PipelineShape shape);

/// Returns the fault of a shape for schedules of several chunks that choose their own groups: a stated group G, or one
/// stage only; else nothing.
[[nodiscard]] std::optional<std::string> no_group_rule(PipelineShape shape);

/// Returns the fault of the group G and the micro-batches, or nothing. Legal: p <= G <= m, and m is a multiple of G or
/// leaves a rest of at least p. A smaller rest runs out before its first micro-batch is back from the ring.
/// Megatron-Core refuses it for the bubbles.
[[nodiscard]] std::optional<std::string> interleaved_1f1b_group_rule(PipelineShape shape);

/// Returns the fault of a user's shape, or nothing. It needs at least two stages and two chunks, and a legal group.
[[nodiscard]] std::optional<std::string> interleaved_1f1b_rule(PipelineShape shape);

}  // namespace foretoken::schedule
