// Replays the schedule and counts the live bytes of every pipeline stage.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
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

/// Returns the same without points. The peaks follow from the order of the ops alone, not from their times.
[[nodiscard]] PerStage<StageTimeline> memory_peaks(const job::Job& job, const schedule::Program& program);

/// Returns the bytes that `stage` keeps free for the activations of its partner stage p-1-r: as many as are away at
/// once.
[[nodiscard]] Bytes kept_for_partner(const job::Job& job, const step::JobMemory& memory,
                                     const schedule::Program& program, Stage stage);

/// The most chunk activations that a stage holds at once, as its program alone decides. Chunks of one kind take the
/// same bytes. A stage has one kind or two. It holds most at the start of a backward pass: each forward pass comes
/// before one, and what a pass has on top is not negative.
struct MostAlive {
  /// Activations alive at once, by kind of their chunk.
  struct Moment {
    int first = 0, second = 0;
  };
  Table<Chunk, std::size_t> kinds;  ///< 0 or 1
  /// The starts of backward passes of each kind, with the activations that they free. No other moment of a list has
  /// more of one kind, and as many of the other.
  std::array<std::vector<Moment>, 2> at_backward;
};

/// Returns the most alive of several stages with the same contents, whose chunks have these kinds. Returns nothing for
/// programs that split backward passes or move activations: their peaks need more.
[[nodiscard]] std::optional<MostAlive> most_alive(const schedule::Program& program, const std::vector<Stage>& stages,
                                                  Table<Chunk, std::size_t> kinds);

/// Returns the peak of the passes of a stage whose chunks take `chunks`, from the order of its ops. Their times do not
/// matter. The stage keeps `kept` for a partner.
[[nodiscard]] Bytes peak_live_bytes(const Table<Chunk, step::PassMemory>& chunks, const schedule::StageProgram& ops,
                                    Bytes kept);

/// Returns the same of ops with these counts. Returns nothing when chunks of one kind differ, or when their bytes are
/// no whole numbers: sums of these depend on their order.
[[nodiscard]] std::optional<Bytes> peak_live_bytes(const Table<Chunk, step::PassMemory>& chunks, const MostAlive& most);

}  // namespace foretoken::observe
