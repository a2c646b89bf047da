// A lowered job: the task graph, the meaning of each task, and everything that moves between GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/base/table.h"
#include "sim/base/units.h"
#include "sim/des/task_graph.h"
#include "sim/step/communication.h"
#include "sim/step/passes/passes.h"

namespace foretoken::step {

/// The kinds of tasks.
enum class TaskMeaning : std::uint8_t {
  kPass,           ///< a pass, or one of its kernels and collectives
  kHostIssue,      ///< the host issuing a kernel
  kPassOverhead,   ///< the GPU standing still between two passes
  kCommunication,  ///< a message, or a collective outside the passes
  kOptimizer,
  kStepOverhead,
  kHostUpdate,  ///< the optimizer's update on the host's processors
};

/// The meaning of one task.
struct Meaning {
  Stage stage = {};
  Chunk chunk = {};
  schedule::MicroBatch microbatch = {};
  TaskMeaning kind = TaskMeaning::kPass;
  schedule::OpKind pass = schedule::OpKind::kForward;  ///< passes, their parts and their messages only
  const TimedOp* op = nullptr;                         ///< kernel fidelity only: the op
  std::optional<CommunicationId> communication{};      ///< only for a task that moves bytes between GPUs
};

/// Streams of offloading: the two copy engines of a GPU, its part of the disks, and of the host's processors.
struct HostStreams {
  des::StreamId to_host, from_host, to_disk, from_disk, update;
};

/// Streams of one stage's GPU (rank 0 of its tensor group).
struct StageStreams {
  PassStreams pass;                           ///< includes the streams for collectives among replicas
  des::StreamId send_forward, send_backward;  ///< links to the next and the previous stage
  std::optional<des::StreamId> moves = {};    ///< link to the partner stage, where activations move there
  std::optional<HostStreams> offload = {};    ///< where anything moves to the host
  [[nodiscard]] des::StreamId comm(Axis axis) const { return pass.comm[axis].value(); }
};

/// A pass in the graph: its first task, and its last one on the compute stream.
struct PassTasks {
  des::TaskId first, last;
  schedule::StageOp op;
};

/// The graph, its meaning, and the tables that reports need to join them. One run owns it.
struct Workload {
  des::TaskGraph graph;
  std::vector<Meaning> meaning;  ///< by task
  Communications communications;
  Table<Stage, CommunicationId> pass_rows;  ///< the first row of its passes, in the order of LayerBlocks
  Table<Stage, StageStreams> stages;
  Table<Stage, std::vector<PassTasks>> passes;  ///< in the order in which they run

  /// Moves of activations to a partner stage and back, in the order in which they run. Empty: none, or they take no
  /// time.
  Table<Stage, std::vector<PassTasks>> moves;

  /// Records a task's meaning. Tasks are recorded in the order of their numbers.
  void note(des::TaskId task, const Meaning& what) {
    expects(task.value == meaning.size(), "tasks are noted in the order of their numbers");
    meaning.push_back(what);
  }
  CommunicationId add(Communication row);

  /// Returns the row of a task, or nothing when it moves nothing.
  [[nodiscard]] const Communication* communication_of(const Meaning& task) const {
    return task.communication ? &communications[*task.communication] : nullptr;
  }
  /// Returns a collective of the passes of `stage` over the ranks of `axis`. Precondition: there is one.
  [[nodiscard]] CommunicationId pass_row(Stage stage, Axis axis) const;
};

/// Returns a few words for a task: "forward", "reduce gradients", "optimizer". Collectives inside a pass are part of
/// the pass.
[[nodiscard]] std::string_view name_of(const Meaning& meaning, const Workload& workload);

}  // namespace foretoken::step
