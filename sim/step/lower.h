// The one place where domain meets engine: a job becomes a task graph, and every task gets a meaning.
#pragma once

#include <memory>
#include <optional>

#include "sim/job/job.h"
#include "sim/schedule/async/versions.h"
#include "sim/step/messages.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// The grain of passes. kStage makes one task a pass. kKernel makes every kernel and collective, and checks kStage.
enum class Fidelity : std::uint8_t { kStage, kKernel };

/// One training step, folded. Rank 0 of the first replica stands for all ranks that do the same, so there is one GPU a
/// pipeline stage. The workload points into `passes`.
struct LoweredStep {
  std::unique_ptr<Passes> passes;
  schedule::Program program;
  Workload workload;
  Bytes message;                                   ///< one pipeline message of one rank
  std::int64_t most_sends = 0;                     ///< messages that the busiest stage sends a step
  std::optional<schedule::SteadyRun> steady = {};  ///< of steps that overlap: the program has several
  double imbalance = 1;                            ///< of the experts on all ranks
  /// The same step, task by task, with every other imbalance that the job states for a group of experts.
  std::vector<LoweredStep> imbalanced;
};

/// Lowers `job`. It is pure: the same job gives the same graph.
[[nodiscard]] LoweredStep lower(const job::Job& job, Fidelity fidelity);

/// Returns the job with links that no two groups share, on full bisection. Flows take their costs from it: the links
/// show oversubscription and the sharing of PCIe.
[[nodiscard]] job::Job with_unshared_links(job::Job job);

/// Lowers `job` for transfers that become flows.
[[nodiscard]] LoweredStep lower_for_flows(job::Job job, Fidelity fidelity);

/// Returns the schedule's program for this job. Without a flush, or without a barrier before the optimizer, it has the
/// steps of schedule::steady_run, and updates.
[[nodiscard]] schedule::Program program_of(const job::Job& job);

/// Returns the way in which messages between stages are posted.
[[nodiscard]] MessagePolicy message_policy(const job::Job& job);

/// Returns the time that a GPU stands still before every pass.
[[nodiscard]] des::Duration pass_overhead(const job::Job& job);

}  // namespace foretoken::step
