// Forward and backward passes of model chunks, made of timed blocks. A pass becomes one task or all its kernels.
#pragma once

#include <compare>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/base/memo.h"
#include "sim/base/table.h"
#include "sim/des/task_graph.h"
#include "sim/job/layout.h"
#include "sim/schedule/program.h"
#include "sim/step/passes/lower_layer.h"

namespace foretoken::step {

/// The blocks of one pass in order: embedding, layers, head. A backward pass reverses them.
using PassBlocks = std::vector<const TimedOps*>;

/// The time of a pass and its parts. Every instant counts once: as compute, else as communication in the order of axes,
/// else as host.
struct PassTiming {
  des::Duration total, compute;
  PerAxis<des::Duration> comm;
  AxisSet axes;  ///< over which it exchanges, hidden or not
  des::Duration host;
  std::vector<des::Duration> block_ends;  ///< from the start of the pass, one per block
};

/// Streams that the passes of one simulated GPU run on: one for kernels, one for each axis over which it exchanges, one
/// for its host.
struct PassStreams {
  des::StreamId compute, host;
  PerAxis<std::optional<des::StreamId>> comm;
};

/// Adds streams for kernels, the host, and the exchanges over `axes`.
[[nodiscard]] PassStreams add_pass_streams(des::TaskGraph& graph, AxisSet axes);

/// A task of a pass, and the op that it stands for.
struct EmittedOp {
  des::TaskId task;
  const TimedOp* op;  ///< nullptr: host time of the op of the next task
};

/// A pass as its kernels: every task, and the task that ends the pass.
struct EmittedPass {
  std::vector<EmittedOp> tasks;
  des::TaskId last;
};

/// Links between the blocks of a pass and other tasks: tasks that must end before a block starts, and tasks that end a
/// block.
struct BlockHooks {
  const std::vector<std::vector<des::TaskId>>* gates = nullptr;  ///< by block; may be shorter than the pass
  std::vector<des::TaskId>* ends = nullptr;                      ///< filled with the task that ends each block
  [[nodiscard]] bool any() const { return gates != nullptr || ends != nullptr; }
};

/// Appends all kernels of `blocks` to `graph` after `after`. A pass starts with an idle GPU and an idle host queue,
/// because pipeline messages synchronise both. The last kernel, or the blocking collective after it, ends the pass.
EmittedPass emit_kernels(des::TaskGraph& graph, const PassStreams& streams, const PassBlocks& blocks,
                         const std::vector<des::TaskId>& after, const BlockHooks& hooks = {});

/// The properties in which the passes of one job differ.
struct PassMake {
  schedule::OpKind kind = schedule::OpKind::kForward;
  std::vector<model::LayerCount> layers{};  ///< kinds of layers in forward order
  int recomputed = 0;                       ///< number of first layers that recompute, in the backward pass
  bool embedding = false, head = false;     ///< the first and the last chunk of the model
  friend auto operator<=>(const PassMake&, const PassMake&) = default;
};

/// Timed blocks of one way to execute a layer, and the passes made of them. Each pass is timed once. Threads may share
/// it.
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

/// All passes of a job, with their blocks and times.
class Passes {
 public:
  /// Makes the kinds of passes that the job's schedule has. It uses a new library for each kind of GPU, or the given
  /// one, which was made for the same layers.
  explicit Passes(const job::Job& job);
  Passes(const job::Job& job, PassLibrary& library);

  [[nodiscard]] const PassBlocks& blocks(Stage stage, Chunk chunk, schedule::OpKind kind) const {
    return entry(stage, chunk, kind).blocks;
  }
  [[nodiscard]] const PassTiming& timing(Stage stage, Chunk chunk, schedule::OpKind kind) const {
    return entry(stage, chunk, kind).timing;
  }
  [[nodiscard]] const std::vector<schedule::OpKind>& kinds() const { return kinds_; }
  /// Returns everything that the passes of `stage` exchange. Ops name rows of it.
  [[nodiscard]] const Communications& communications(Stage stage) const {
    return libraries_[stage]->blocks().communications;
  }
  /// Returns the parameters with gradients. They are the same on GPUs of all kinds.
  [[nodiscard]] const BlockParameters& trained() const { return libraries_.front()->blocks().trained; }
  /// Returns the time of one layer of the model's first kind, by itself, on a GPU of stage `stage`. The backward time
  /// includes recomputation.
  [[nodiscard]] Seconds layer_forward(Stage stage) const;
  [[nodiscard]] Seconds layer_backward(Stage stage) const;

 private:
  void add_entries(const job::Job& job);
  [[nodiscard]] std::size_t index(Stage stage, Chunk chunk, schedule::OpKind kind) const {
    const std::size_t place = stage.index() * static_cast<std::size_t>(chunks_) + chunk.index();
    return place * schedule::kOpKinds + static_cast<std::size_t>(kind);
  }
  [[nodiscard]] const PassLibrary::Entry& entry(Stage stage, Chunk chunk, schedule::OpKind kind) const {
    const PassLibrary::Entry* const entry = entries_[index(stage, chunk, kind)];
    expects(entry != nullptr, "a schedule says which kinds of passes it has");
    return *entry;
  }

  std::vector<std::unique_ptr<PassLibrary>> own_;
  Table<Stage, PassLibrary*> libraries_;
  std::vector<const PassLibrary::Entry*> entries_;  // [stage][chunk][kind]; nullptr: the schedule has no such pass
  int chunks_ = 1;
  std::vector<schedule::OpKind> kinds_;
};

/// Times a pass by running its kernels on their own streams.
[[nodiscard]] PassTiming time_pass(const PassBlocks& blocks);

}  // namespace foretoken::step
