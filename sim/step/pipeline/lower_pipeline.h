// Writes a pipeline schedule into a task graph: passes on compute streams, messages between stages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/schedule/program.h"
#include "sim/step/pipeline/messages.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// Appends passes to a graph: as one task, as kernels, or with given durations.
class PassEmitter {
 public:
  virtual ~PassEmitter() = default;
  /// Appends the pass `op` of `stage` after the tasks `after`, which include the stage's previous pass. Returns its
  /// last task on the compute stream. With `hooks` the pass is cut into its blocks.
  virtual des::TaskId emit(Workload& workload, Stage stage, const schedule::StageOp& op,
                           const std::vector<des::TaskId>& after, const BlockHooks& hooks) = 0;
};

/// Durations of passes that are single tasks, by kind of op.
using PassDurations = std::map<schedule::OpKind, Table<Stage, Table<Chunk, des::Duration>>>;

/// Message times by sender, on its link to the next stage and on its link to the previous one.
struct MessageDurations {
  Table<Stage, des::Duration> to_next, to_previous;
  [[nodiscard]] des::Duration of(Stage sender, schedule::Neighbour link) const {
    return link == schedule::Neighbour::kNext ? to_next[sender] : to_previous[sender];
  }
};

/// Makes one task a pass.
[[nodiscard]] std::unique_ptr<PassEmitter> fixed_passes(PassDurations durations);
/// Makes one task a pass, as long as its kernels take. `passes` must outlive the emitter.
[[nodiscard]] std::unique_ptr<PassEmitter> stage_passes(const Passes& passes);
/// Makes every kernel and collective. `passes` must outlive the emitter and the use of the workload.
[[nodiscard]] std::unique_ptr<PassEmitter> kernel_passes(const Passes& passes);

/// Tasks that must end before the blocks of a chunk's first pass, by block.
using ForwardGates = Table<Stage, Table<Chunk, std::vector<std::vector<des::TaskId>>>>;

/// The tasks on which the end of the step depends.
struct PipelineEnds {
  Table<Stage, std::vector<des::TaskId>> finished;  ///< its last pass and the messages that it still waits for
  /// Ends of the blocks of the pass that completes the gradients, in the order in which they run.
  Table<Stage, Table<Chunk, std::vector<des::TaskId>>> gradient_blocks;
  std::int64_t most_sends = 0;  ///< messages that the busiest stage sends
  bool reduced = false;         ///< the replicas have no gradients left to reduce
};

/// Appends the update of a stage's weights inside the pipeline. The gradients are complete after `ready`; `last` is the
/// latest task on the compute stream. Returns the last task on that stream.
using Update =
    std::function<des::TaskId(Stage stage, const schedule::StageOp& op, des::TaskId ready, des::TaskId last)>;

/// The way in which a program is carried out.
struct PipelineOptions {
  MessagePolicy policy = MessagePolicy::kAsProduced;
  MessageDurations messages = {};
  /// Time of moving the activations of a micro-batch to the partner of a stage, or back; empty: no time. Only where the
  /// program moves activations.
  Table<Stage, des::Duration> moves = {};
  std::function<Communication(Stage from)> move_row = {};  ///< the row of a move; needed where moves take time
  /// Returns the row of a message. Without it: bare_message().
  std::function<Communication(Stage from, Stage to, Purpose purpose)> message_row = {};
  ForwardGates gates = {};           ///< empty: none
  bool gradient_blocks = false;      ///< cut the op that completes a chunk's gradients into its blocks
  Update update = {};                ///< for programs with updates
  des::Duration pass_overhead = {};  ///< idle time of the GPU before every pass, while messages move on
};

/// Adds streams for every stage to an empty workload.
void add_stage_streams(Workload& workload, int stages, AxisSet axes = net::kStageAxes);

/// Returns the axes over which the GPUs of a stage exchange: those of dense layers, and of experts where there are any.
[[nodiscard]] AxisSet stage_axes(const job::Job& job);

/// Appends the whole program.
PipelineEnds lower_pipeline(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
                            PassEmitter& emitter);

}  // namespace foretoken::step
