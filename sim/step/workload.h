// A lowered scenario: the task graph and, beside it, what each task means.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/des/task_graph.h"
#include "sim/step/communication.h"
#include "sim/step/passes/passes.h"

namespace foretoken::step {

enum class TaskMeaning : std::uint8_t {
  kForward,       ///< a forward pass, or its kernels
  kBackward,      ///< a backward pass, or its kernels
  kHostIssue,     ///< the host issuing a kernel
  kPassOverhead,  ///< the GPU standing still between two passes
  kSendForward,   ///< activations to the next virtual stage
  kSendBackward,  ///< gradients to the previous virtual stage
  kGradReduce,    ///< data-parallel all-reduce or reduce-scatter of gradients
  kNormReduce,    ///< tensor-parallel all-reduce of norm gradients (sequence parallelism)
  kParamGather,   ///< data-parallel all-gather of parameters
  kEmbeddingTie,  ///< all-reduce of the tied embedding's gradient between first and last stage
  kGradNorm,      ///< gradient norm and overflow check over all ranks
  kOptimizer,
  kStepOverhead,
};

/// What one task stands for.
struct Meaning {
  std::uint16_t stage = 0;
  std::uint16_t chunk = 0;
  std::uint32_t microbatch = 0;
  TaskMeaning kind = TaskMeaning::kForward;
  const TimedOp* op = nullptr;                     ///< kernel fidelity only: the op
  std::optional<CommunicationId> communication{};  ///< of tasks that move something between GPUs
};

/// Streams of one stage's GPU (rank 0 of its tensor group).
struct StageStreams {
  PassStreams pass;
  des::StreamId data_comm;
  des::StreamId send_forward, send_backward;  ///< links to the next and the previous stage
};

/// A pass as it stands in the graph: its first task and its last one on the compute stream.
struct PassTasks {
  des::TaskId first, last;
  schedule::StageOp op;
};

/// The graph, its meaning, and what reports need to join them. Owned by one run.
struct Workload {
  des::TaskGraph graph;
  std::vector<Meaning> meaning;  ///< by task
  Communications communications;
  std::vector<StageStreams> stages;
  std::vector<std::vector<PassTasks>> passes;  ///< per stage, in the order in which they run

  /// Notes a task's meaning; tasks are noted in the order of their numbers.
  void note(des::TaskId task, const Meaning& what);
  CommunicationId add(Communication row);
};

}  // namespace foretoken::step
