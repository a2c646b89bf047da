// The tasks of a pipeline in a graph: messages, passes, updates and moves, each with its meaning.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// Returns the meaning of a task that belongs to an op of a stage.
[[nodiscard]] Meaning meaning_of(Stage stage, const schedule::StageOp& op, TaskMeaning kind);

/// Appends the tasks of a pipeline to a workload's graph. It keeps references: the workload, the options and the
/// emitter must outlive it.
class GraphTasks {
 public:
  GraphTasks(Workload& workload, const PipelineOptions& options, PassEmitter& emitter)
      : workload_(workload),
        options_(options),
        emitter_(emitter),
        rows_(workload.stages.size()),
        move_rows_(workload.stages.size()) {}

  /// Appends a message after those before it on the sender's link.
  des::TaskId message(const MessageKey& key, schedule::Neighbour link);

  /// Appends a pass after the tasks `after` and the last pass of its stage, and returns its last task.
  des::TaskId pass(Stage stage, const schedule::StageOp& op, std::vector<des::TaskId>& after,
                   std::optional<des::TaskId> last, const BlockHooks& hooks);

  /// Appends an update of weights whose gradients are complete after `ready`. Returns its last task on the compute
  /// stream.
  des::TaskId update(Stage stage, const schedule::StageOp& op, des::TaskId ready, des::TaskId last) {
    return options_.update(stage, op, ready, last);
  }

  /// Appends a move of activations after the moves before it on the stage. Returns nothing where it takes no time.
  std::optional<des::TaskId> move(Stage stage, const schedule::StageOp& op);

  void add_dependency(des::TaskId before, des::TaskId after) { workload_.graph.add_dependency(before, after); }

 private:
  [[nodiscard]] CommunicationId row_of(Stage from, schedule::Neighbour carries_to, schedule::Neighbour link);
  des::TaskId stand_still(Stage stage, const schedule::StageOp& op, std::optional<des::TaskId> last);

  Workload& workload_;
  const PipelineOptions& options_;
  PassEmitter& emitter_;
  Table<Stage, std::array<std::array<std::optional<CommunicationId>, 2>, 2>> rows_;  // by sender
  Table<Stage, std::optional<CommunicationId>> move_rows_;
};

}  // namespace foretoken::step
