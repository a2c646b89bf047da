// Forward and backward passes of model chunks: made of timed blocks, emitted as one task or as all their kernels.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/memo.h"
#include "sim/des/task_graph.h"
#include "sim/job/layout.h"
#include "sim/schedule/program.h"
#include "sim/step/passes/lower_layer.h"

namespace foretoken::step {

/// The blocks of one pass in order: embedding, layers, head; backward reversed.
using PassBlocks = std::vector<const TimedOps*>;

/// The time of a pass, and its parts: every instant counts once: compute, then communication in the
/// order of axes, then the host.
struct PassTiming {
  des::Duration total, compute;
  PerAxis<des::Duration> comm;
  des::Duration host;
  std::vector<des::Duration> block_ends;  ///< since the start of the pass, one per block
};

/// Streams of one simulated GPU that passes run on: one for kernels, one for what it exchanges over each axis, one for
/// its host.
struct PassStreams {
  des::StreamId compute, host;
  PerAxis<std::optional<des::StreamId>> comm;
};

/// Streams for kernels, the host, and what is exchanged over `axes`.
[[nodiscard]] PassStreams add_pass_streams(des::TaskGraph& graph, AxisSet axes);

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

/// What tells the passes of one scenario apart.
struct PassMake {
  schedule::OpKind kind = schedule::OpKind::kForward;
  std::vector<model::LayerCount> layers{};  ///< kinds of layers in forward order
  int recomputed = 0;                       ///< the first so many layers recompute, in the backward pass
  bool embedding = false, head = false;     ///< the first and the last chunk of the model
  friend auto operator<=>(const PassMake&, const PassMake&) = default;
};

[[nodiscard]] PassMake make_of(const job::Job& job, schedule::Place at, schedule::OpKind kind);

/// Timed blocks of one way to execute a layer, and the passes made of them; each is timed once. Threads may share it.
class PassLibrary {
 public:
  struct Entry {
    PassBlocks blocks;
    PassTiming timing;
  };
  explicit PassLibrary(LayerBlocks blocks) : blocks_(std::move(blocks)) {}
  [[nodiscard]] const Entry& entry(const PassMake& make);
  [[nodiscard]] const LayerBlocks& blocks() const { return blocks_; }

 private:
  [[nodiscard]] PassBlocks blocks_of(const PassMake& make) const;

  LayerBlocks blocks_;
  Memo<PassMake, Entry> entries_;
};

/// All passes of a scenario: which blocks, how long.
class Passes {
 public:
  /// With a library of its own for each kind of GPU, or with one that was made for the same layers. They are the kinds
  /// of passes that the job's schedule has.
  explicit Passes(const job::Job& job);
  Passes(const job::Job& job, PassLibrary& library);

  [[nodiscard]] const PassBlocks& blocks(int stage, int chunk, schedule::OpKind kind) const {
    return entry(stage, chunk, kind).blocks;
  }
  [[nodiscard]] const PassTiming& timing(int stage, int chunk, schedule::OpKind kind) const {
    return entry(stage, chunk, kind).timing;
  }
  [[nodiscard]] const std::vector<schedule::OpKind>& kinds() const { return kinds_; }
  /// All that the passes of `stage` exchange; ops name rows of it.
  [[nodiscard]] const Communications& communications(int stage) const {
    return libraries_[static_cast<std::size_t>(stage)]->blocks().communications;
  }
  /// Time of one layer's forward and backward pass (with recomputation), alone, on a GPU of stage `stage`: a layer of
  /// the model's first kind.
  [[nodiscard]] Seconds layer_forward(int stage) const;
  [[nodiscard]] Seconds layer_backward(int stage) const;

 private:
  void add_entries(const job::Job& job);
  [[nodiscard]] const PassLibrary::Entry& entry(int stage, int chunk, schedule::OpKind kind) const;

  std::vector<std::unique_ptr<PassLibrary>> own_;
  std::vector<PassLibrary*> libraries_;             // by stage
  std::vector<const PassLibrary::Entry*> entries_;  // [stage][chunk][kind]
  int chunks_ = 1;
  std::vector<schedule::OpKind> kinds_;
};

/// Times a pass by running its kernels on streams of their own.
[[nodiscard]] PassTiming time_pass(const PassBlocks& blocks);

}  // namespace foretoken::step
