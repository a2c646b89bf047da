// Replays the schedule and counts the live bytes of every pipeline stage.
#pragma once

#include <vector>

#include "sim/base/units.h"
#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"

namespace foretoken::observe {

/// The live bytes of a stage from `at` on: stored activations and short-lived buffers, without the static part.
struct MemoryPoint {
  des::Instant at;
  Bytes activations, transient;
};

/// One stage over the step.
struct StageTimeline {
  std::vector<MemoryPoint> points;  ///< in time order
  Bytes peak;                       ///< largest activations + transient
  Bytes activations_at_peak, transient_at_peak;
  int chunks_at_peak = 0;      ///< chunk activations alive at that moment
  int most_chunks = 0;         ///< most chunk activations alive at any moment
  Table<Chunk, Bytes> stored;  ///< bytes that a forward pass stores until its backward pass ends
};

/// Replays the ops of each stage. An op stores activations at its start, and frees them at its end. What a stage keeps
/// for its partner is stored from the start to the end.
[[nodiscard]] PerStage<StageTimeline> memory_timelines(const job::Job& job, const step::LoweredStep& step,
                                                       const des::RunResult& run);

/// Returns the bytes that `stage` keeps free for the activations of its partner stage p-1-r: as many as are away at
/// once.
[[nodiscard]] Bytes kept_for_partner(const job::Job& job, const step::JobMemory& memory,
                                     const schedule::Program& program, Stage stage);

/// Returns the peak of one stage of `memory`'s job from the order of its ops. Their times do not matter. The stage
/// keeps `kept` for a partner.
[[nodiscard]] Bytes peak_live_bytes(const step::JobMemory& memory, Stage stage, const schedule::StageProgram& ops,
                                    Bytes kept);

}  // namespace foretoken::observe
