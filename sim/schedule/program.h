// The language of pipeline schedules: what each stage does, in which order. No times, bytes or GPUs.
#pragma once

#include <vector>

#include "sim/schedule/ops.h"

namespace foretoken::schedule {

/// p stages, m micro-batches, v model chunks a stage (1: not interleaved), G the micro-batch group of interleaving
/// (0: p). `microbatches` counts those of one step and one data-parallel replica.
struct PipelineShape {
  int stages = 1, microbatches = 1, chunks = 1, group = 0;
};

/// What a stage does with one micro-batch of one of its model chunks.
struct StageOp {
  OpKind kind = OpKind::kForward;
  int microbatch = 0;
  int chunk = 0;
  friend bool operator==(const StageOp&, const StageOp&) = default;
};

/// The op list of one stage in issue order.
using StageProgram = std::vector<StageOp>;

/// The op lists of all stages. Stage r holds in chunk k the virtual stage k * stages + r.
using Program = std::vector<StageProgram>;

}  // namespace foretoken::schedule
