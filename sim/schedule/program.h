// The language of pipeline schedules: what each stage does, in which order. No times, bytes or GPUs.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken::schedule {

enum class Phase : std::uint8_t { kForward, kBackward };

/// p stages, m micro-batches, v model chunks a stage (1: not interleaved), G the micro-batch group of interleaving
/// (0: p). `microbatches` counts those of one step and one data-parallel replica. `extra_warmup` (0 or 1) is one more
/// forward before the first backward of interleaving: Megatron-Core's overlap of expert-parallel communication.
struct PipelineShape {
  int stages = 1, microbatches = 1, chunks = 1, group = 0;
  int extra_warmup = 0;
};

/// One pass of one model chunk over one micro-batch.
struct StageOp {
  Phase phase = Phase::kForward;
  int microbatch = 0;
  int chunk = 0;
  friend bool operator==(const StageOp&, const StageOp&) = default;
};

/// The op list of one stage in issue order.
using StageProgram = std::vector<StageOp>;

/// The op lists of all stages. Stage r holds in chunk k the virtual stage k * stages + r.
using Program = std::vector<StageProgram>;

}  // namespace foretoken::schedule
