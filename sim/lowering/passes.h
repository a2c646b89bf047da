// Forward and backward passes of model chunks: made of timed blocks, emitted as one task or as all their kernels.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/lowering/lower_layer.h"
#include "sim/schedule/program.h"

namespace foretoken::lowering {

/// The blocks of one pass in order: embedding, layers, head; backward reversed.
using PassBlocks = std::vector<const TimedOps*>;

/// How long a pass takes and on what: every instant counts once, compute before communication before the host.
struct PassTiming {
  des::Duration total, compute, tensor_comm, context_comm, host;
  std::vector<des::Duration> block_ends;  ///< since the start of the pass, one per block
};

/// Streams of one simulated GPU that passes run on.
struct PassStreams {
  des::StreamId compute, tensor_comm, context_comm, host;
};

/// A task that a pass consists of, and the op it stands for.
struct EmittedOp {
  des::TaskId task;
  const TimedOp* op;  ///< nullptr: host time of the op of the next task
};

/// A pass as its kernels: every task, and the one that ends the pass.
struct EmittedPass {
  std::vector<EmittedOp> tasks;
  des::TaskId last;
};

/// What hangs on the blocks of a pass: tasks that must end before a block starts, and the tasks that end each block.
struct BlockHooks {
  const std::vector<std::vector<des::TaskId>>* gates = nullptr;  ///< per block; may be shorter than the pass
  std::vector<des::TaskId>* ends = nullptr;                      ///< filled with the task that ends each block
  [[nodiscard]] bool any() const { return gates != nullptr || ends != nullptr; }
};

/// Appends all kernels of `blocks` to `graph` after `after` (a pass starts with an idle GPU and an idle host queue:
/// pipeline messages synchronise both). The last kernel, or the blocking collective after it, ends the pass.
EmittedPass emit_kernels(des::TaskGraph& graph, const PassStreams& streams, const PassBlocks& blocks,
                         const std::vector<des::TaskId>& after, const BlockHooks& hooks = {});

/// All passes of a scenario: which blocks, how long. Distinct passes are timed once.
class Passes {
 public:
  explicit Passes(const Scenario& scenario);

  [[nodiscard]] const PassBlocks& blocks(int stage, int chunk, schedule::Phase phase) const {
    return entry(stage, chunk, phase).blocks;
  }
  [[nodiscard]] const PassTiming& timing(int stage, int chunk, schedule::Phase phase) const {
    return entry(stage, chunk, phase).timing;
  }
  /// Time of one layer's forward and backward pass (with recomputation), alone.
  [[nodiscard]] Seconds layer_forward() const { return layer_forward_; }
  [[nodiscard]] Seconds layer_backward() const { return layer_backward_; }

 private:
  struct Entry {
    PassBlocks blocks;
    PassTiming timing;
  };
  [[nodiscard]] const Entry& entry(int stage, int chunk, schedule::Phase phase) const;

  LayerBlocks blocks_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> index_;  ///< [stage][chunk][phase] -> entry
  int chunks_ = 1;
  Seconds layer_forward_, layer_backward_;
};

/// Times a pass by running its kernels on streams of their own.
[[nodiscard]] PassTiming time_pass(const PassBlocks& blocks);

}  // namespace foretoken::lowering
