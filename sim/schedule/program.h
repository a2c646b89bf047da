// The language of pipeline schedules: the ops of each stage in their order, without times, bytes or GPUs.
#pragma once

#include <vector>

#include "sim/base/ids.h"
#include "sim/base/table.h"
#include "sim/schedule/ops.h"
#include "sim/schedule/placement.h"

namespace foretoken::schedule {

/// p stages, m micro-batches, v model chunks a stage (1: not interleaved), G micro-batches a group of interleaving (0:
/// p). `microbatches` counts one step of one data-parallel replica.
struct PipelineShape {
  int stages = 1, microbatches = 1, chunks = 1, group = 0;
};

using MicroBatch = Id<struct MicroBatchTag>;  ///< of one step and one replica, over all ways of the placement

/// The work of a stage on one micro-batch of one of its model chunks.
struct StageOp {
  OpKind kind = OpKind::kForward;
  MicroBatch microbatch;
  Chunk chunk = {};
  friend bool operator==(const StageOp&, const StageOp&) = default;
};

/// The op list of one stage in issue order.
using StageProgram = std::vector<StageOp>;

/// The op lists of all stages, and the places of the virtual stages.
struct Program {
  Placement placement;
  Table<Stage, StageProgram> stages;
  /// Forwards before a forward and a backward take turns, by stage. Empty: the schedule has no such order. Megatron
  /// posts messages by it.
  Table<Stage, int> warm_up = {};
  friend bool operator==(const Program&, const Program&) = default;
};

/// Returns one more than the largest micro-batch. Precondition: a sound program, where every stage meets all of them.
[[nodiscard]] int microbatches_of(const Program& program);

}  // namespace foretoken::schedule
