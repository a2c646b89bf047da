// A pipeline compiled for replay: its tasks in an order in which each follows its dependencies, with open durations.
//
// The tasks of a pipeline and their dependencies follow from its schedule and shape, not from durations. One plan
// therefore serves every scenario of that shape. A replay is one walk over the tasks. Each task starts when the last of
// its dependencies has ended, as in the engine without links to share.
//
// A long pipeline repeats itself. Its stages are then walked over a few repetitions only (shortened_program.h). The
// steps of the others are copies.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/des/time.h"
#include "sim/fast/shortened_program.h"
#include "sim/schedule/program.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::fast {

/// Everything that the graph depends on.
struct PlanShape {
  std::string schedule;
  int stages = 1, chunks = 1, microbatches = 1, group = 0;
  std::vector<schedule::OpKind> kinds = {};  ///< kinds of the passes, as schedule::pass_kinds lists them
  step::MessagePolicy policy = step::MessagePolicy::kBlocking;
  bool stands_still = false;  ///< the GPU waits a while before every pass
  bool moves = false;         ///< activations move to a partner stage and back
  friend auto operator<=>(const PlanShape&, const PlanShape&) = default;
};

/// Durations of the parts of one scenario's pipeline.
struct PlanTimes {
  std::vector<des::Duration> passes = {};  ///< [stage][chunk][kind]
  /// The earliest end of a chunk's first pass, if that pass has this kind: parameters are gathered beside it. Laid out
  /// as `passes`; empty when nothing is gathered beside passes.
  std::vector<des::Duration> held = {};
  step::MessageDurations messages = {};
  Table<Stage, des::Duration> moves = {};  ///< of activations; empty unless PlanShape::moves
  des::Duration pass_overhead = {};        ///< zero unless PlanShape::stands_still
};

/// Ends of the blocks of passes.
using BlockEnds = Table<Stage, Table<Chunk, std::vector<des::Instant>>>;

/// The pass that completes the gradients of a chunk.
struct LastPass {
  schedule::OpKind kind = {};
  des::Instant end = {};
};

/// The result of one replay.
struct PlanRun {
  Table<Stage, des::Instant> finished;  ///< end of its last pass and of the messages that it waits for
  BlockEnds gradient_blocks;  ///< of the pass that completes the gradients; empty unless they are reduced beside it
  des::Instant last;          ///< the end of everything
  bool reduced = false;       ///< the replicas have no gradients left to reduce
};

class PipelinePlan {
 public:
  /// Precondition: `program` is the schedule's for that shape, and has a flush. The policy is not kLatency.
  PipelinePlan(const PlanShape& shape, const schedule::Program& program);
  /// Walks over every pass. Any replay ends at the same instants as that of the plan above, which a test holds equal.
  [[nodiscard]] static PipelinePlan without_copies(const PlanShape& shape, const schedule::Program& program);

  /// Replays the plan with these durations. A thread keeps `scratch` as memory between replays. The result has no
  /// gradient_blocks: they follow from the ends of last_passes().
  [[nodiscard]] PlanRun replay(const PlanTimes& times, std::vector<std::int64_t>& scratch) const;
  /// Returns the passes that complete gradients, with their ends in the last replay() over `scratch`.
  [[nodiscard]] Table<Stage, Table<Chunk, LastPass>> last_passes(const std::vector<std::int64_t>& scratch) const;
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  /// Returns the number of steps that are copies.
  [[nodiscard]] std::size_t copied_steps() const { return copied_steps_; }
  /// Returns the sum of all durations. No instant is later. It is a double, because the clock may not hold it.
  [[nodiscard]] double total_ps(const PlanTimes& times) const;

 private:
  struct Slots;
  class Recorder;
  /// Most tasks wait for one, two or three others. One with more of them waits for steps without a duration that wait
  /// for the rest: the walk over the steps then has no branch.
  static constexpr std::size_t kMostWaits = 3;
  struct Step {
    std::uint32_t slot = 0;                            // the duration
    std::array<std::uint32_t, kMostWaits> waits = {};  // numbers of steps; 0 for none
  };
  struct LastStep {
    schedule::OpKind kind = {};
    std::uint32_t step = 0;
  };
  /// Steps from number `begin` on that repeat the steps before them.
  struct Repeated {
    std::uint32_t begin = 0, count = 0;
  };
  PipelinePlan() = default;
  void record(const PlanShape& shape, const schedule::Program& program);
  void count_uses(const PlanShape& shape);
  [[nodiscard]] std::optional<Repeated> repeated(const Slots& slots, const ShortenedProgram& shorter) const;
  [[nodiscard]] bool is_repeated(Repeated steps) const;
  void insert_copies(Repeated steps, std::size_t copies);
  [[nodiscard]] static std::vector<std::int64_t> slots_of(const PlanTimes& times);

  std::vector<Step> steps_;  // number 1 is the first
  std::size_t copied_steps_ = 0;
  std::vector<double> uses_;                   // tasks, by slot
  Table<Stage, std::uint32_t> finished_;       // the step that ends it
  Table<Stage, Table<Chunk, LastStep>> last_;  // that complete gradients
};

}  // namespace foretoken::fast
