// The schedules with a flush at the end of every step, beside GPipe and the two of Megatron-Core: one file each.
#pragma once

#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// 1F1B with twice the warm-up, so that messages hide behind passes (alpa's OverlapFriendly schedule).
[[nodiscard]] Schedule eager_1f1b();
/// All micro-batches through chunk 0, then through chunk 1; backwards in reverse (arXiv:2211.05953).
[[nodiscard]] Schedule looped_bfs();
/// 1F1B with split backward passes: stage r delays its backwards for weight by r micro-batches (arXiv:2401.10241).
[[nodiscard]] Schedule zb_h1();
/// ZB-H1 with twice the warm-up and twice the delay: no bubble inside a stage, more memory (arXiv:2401.10241).
[[nodiscard]] Schedule zb_h2();
/// Interleaved 1F1B with split backward passes, in the order of PyTorch's ScheduleInterleavedZeroBubble.
[[nodiscard]] Schedule interleaved_zb();
/// Two chunks a stage in a V, in the order of PyTorch's ScheduleZBVZeroBubble (ZB-V of arXiv:2401.10241).
[[nodiscard]] Schedule zb_v();
/// The V schedules of arXiv:2405.15362, with all, half and a third of the activations of 1F1B.
[[nodiscard]] Schedule v_zb();
[[nodiscard]] Schedule v_half();
[[nodiscard]] Schedule v_min();
/// Chunks in waves over the stages, in the memory of 1F1B (arXiv:2308.15762).
[[nodiscard]] Schedule hanayo();
/// Two copies of the model. Half of the micro-batches go down the stages, the others up (arXiv:2107.06925).
[[nodiscard]] Schedule chimera();
/// The same with pairs of a forward and a backward pass, and split backward passes at its ends (arXiv:2412.19437).
[[nodiscard]] Schedule dual_pipe();
/// One copy of the model in a V, with the pairs of DualPipe (deepseek-ai/DualPipe, dualpipev.py).
[[nodiscard]] Schedule dual_pipe_v();
/// 1F1B whose first stages send activations to the last ones and bring them back (arXiv:2401.02088).
[[nodiscard]] Schedule bpipe();

}  // namespace foretoken::schedule
