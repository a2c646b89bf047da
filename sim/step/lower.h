// The one hall where domain meets engine: a scenario becomes a task graph and what each task means.
#pragma once

#include <memory>

#include "sim/job/job.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// How finely passes are lowered: one task each, or every kernel and collective (the oracle of the former).
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

/// What flows take their costs from: what an oversubscribed fabric lacks, its own links show.
[[nodiscard]] job::Job with_full_bisection(job::Job job);

/// The same for transfers that become flows.
[[nodiscard]] LoweredStep lower_for_flows(job::Job job, Fidelity fidelity);

/// A pipeline message of one rank: what passes before its bytes move, and how its bytes move.
struct Message {
  Seconds fixed;  ///< host overhead of the runtime, and gathering the pieces at the receiver
  PointToPointShape shape;
  NodeLinks links;  ///< that the stages of a node have between them
};

/// The message from stage `stage` to the next one (wrapping around); the way back is the same.
[[nodiscard]] Message message_from(const job::Job& job, int stage);

/// A message between nodes of two kinds as one of them, `side`, carries it; the receiver gathers its pieces.
[[nodiscard]] Message message_across(const job::Job& side, const job::Job& receiver);

/// The schedule's program for this scenario.
[[nodiscard]] schedule::Program program_of(const job::Job& job);

/// Times of the messages between stages, and how they are posted.
[[nodiscard]] MessageDurations message_durations(const job::Job& job);
[[nodiscard]] MessagePolicy message_policy(const job::Job& job);

/// How long a GPU stands still before every pass.
[[nodiscard]] des::Duration pass_overhead(const job::Job& job);

}  // namespace foretoken::step
