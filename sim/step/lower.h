// The one hall where domain meets engine: a scenario becomes a task graph and what each task means.
#pragma once

#include <memory>

#include "sim/job/job.h"
#include "sim/step/messages.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// The grain of passes: one task each, or every kernel and collective (the oracle of the former).
enum class Fidelity : std::uint8_t { kStage, kKernel };

/// One training step, folded: ranks that do the same thing are represented by rank 0 of the first replica, one GPU a
/// pipeline stage. The workload points into `passes`.
struct LoweredStep {
  std::unique_ptr<Passes> passes;
  schedule::Program program;
  Workload workload;
  Bytes message;                ///< one pipeline message of one rank
  std::int64_t most_sends = 0;  ///< messages that the busiest stage sends a step
};

/// Lowers `job`. Pure: the same scenario gives the same graph.
[[nodiscard]] LoweredStep lower(const job::Job& job, Fidelity fidelity);

/// The job on a fabric of full bisection. Flows take their costs from it; the links show any oversubscription.
[[nodiscard]] job::Job with_full_bisection(job::Job job);

/// The same for transfers that become flows.
[[nodiscard]] LoweredStep lower_for_flows(job::Job job, Fidelity fidelity);

/// The schedule's program for this scenario.
[[nodiscard]] schedule::Program program_of(const job::Job& job);

/// The posting of the messages between stages.
[[nodiscard]] MessagePolicy message_policy(const job::Job& job);

/// The time that a GPU stands still before every pass.
[[nodiscard]] des::Duration pass_overhead(const job::Job& job);

}  // namespace foretoken::step
