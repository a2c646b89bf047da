// Replays a pipeline schedule into a task graph: passes on compute streams, messages between stages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/schedule/program.h"
#include "sim/step/pipeline/pipeline_actions.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// Appends passes to a graph: as one task, as kernels, or with given durations.
class PassEmitter {
 public:
  virtual ~PassEmitter() = default;
  /// Appends the pass `op` of `stage` after the tasks `after` (they include the stage's previous pass) and returns its
  /// last task on the compute stream. With `hooks` the pass is cut into its blocks.
  virtual des::TaskId emit(Workload& workload, int stage, schedule::StageOp op, const std::vector<des::TaskId>& after,
                           const BlockHooks& hooks) = 0;
};

/// Passes as single tasks with given durations, per stage and chunk.
struct PassDurations {
  std::vector<std::vector<des::Duration>> forward, backward;  ///< [stage][chunk]
  /// [stage][chunk]: ends of the blocks since the start of a pass that is cut; empty: one block.
  std::vector<std::vector<std::vector<des::Duration>>> forward_blocks = {}, backward_blocks = {};
};

/// Message times: [stage], to the next stage (forward) and to the previous one (backward).
struct MessageDurations {
  std::vector<des::Duration> forward, backward;
};

/// One task a pass.
[[nodiscard]] std::unique_ptr<PassEmitter> fixed_passes(const PassDurations& durations);
/// One task a pass, as long as its kernels take. `passes` must outlive the emitter.
[[nodiscard]] std::unique_ptr<PassEmitter> stage_passes(const Passes& passes);
/// Every kernel and collective. `passes` must outlive the emitter and the workload's use.
[[nodiscard]] std::unique_ptr<PassEmitter> kernel_passes(const Passes& passes);

/// What hangs on the pipeline: tasks that hold up the blocks of a chunk's first forward pass, [stage][chunk][block].
using ForwardGates = std::vector<std::vector<std::vector<std::vector<des::TaskId>>>>;

/// What the pipeline leaves behind for the end of the step.
struct PipelineEnds {
  std::vector<std::vector<des::TaskId>> finished;  ///< per stage: its last pass and the messages it still waits for
  /// [stage][chunk][block]: ends of the blocks of the last backward pass, in the order in which they run.
  std::vector<std::vector<std::vector<des::TaskId>>> gradient_blocks;
  std::int64_t most_sends = 0;  ///< messages that the busiest stage sends
};

/// How a program is replayed.
struct PipelineOptions {
  int chunks = 1;  ///< v
  MessageStyle style = MessageStyle::kBlocking;
  MessageDurations messages;  ///< a message is in order with the others of its link
  /// The row of a message; none: bare_message().
  std::function<Communication(Stage from, Stage to, Purpose purpose)> message_row{};
  ForwardGates gates;             ///< empty: none
  bool gradient_blocks = false;   ///< cut the last backward pass of every chunk into its blocks
  des::Duration pass_overhead{};  ///< the GPU stands still so long before every pass, beside messages on their way
};

/// Adds streams for every stage to an empty workload.
void add_stage_streams(Workload& workload, int stages);

/// Appends the whole program.
PipelineEnds lower_pipeline(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
                            PassEmitter& emitter);

}  // namespace foretoken::step
