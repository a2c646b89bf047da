// A pipeline compiled for replay: its tasks in an order in which each follows what it waits for, durations left open.
//
// Which tasks a pipeline has, and what they wait for, depends on its schedule and shape, not on how long anything
// takes. So one plan serves every scenario of that shape: a replay is one walk over the tasks, each starting when the
// last of those it waits for has ended, which is what the engine does without links to share.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/des/time.h"
#include "sim/schedule/program.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::fast {

/// Everything that the graph depends on.
struct PlanShape {
  std::string schedule;
  int stages = 1, chunks = 1, microbatches = 1, group = 0;
  std::vector<schedule::OpKind> kinds = {};  ///< of the passes, as schedule::pass_kinds lists them
  step::MessagePolicy policy = step::MessagePolicy::kBlocking;
  bool gradient_blocks = false;  ///< the pass that completes a chunk's gradients is cut into its blocks
  /// Blocks of every pass, [stage][chunk][kind]; empty when no pass is cut.
  std::vector<int> blocks = {};
  /// Parameter gathers that hold up first passes: (stage, chunk, block) of each, in the order of their tasks.
  std::vector<std::array<int, 3>> gates = {};
  bool stands_still = false;  ///< the GPU waits a while before every pass
  friend auto operator<=>(const PlanShape&, const PlanShape&) = default;
};

/// How long the parts of one scenario's pipeline take.
struct PlanTimes {
  std::vector<des::Duration> passes = {};         ///< [stage][chunk][kind]
  std::vector<des::Duration> block_lengths = {};  ///< of all passes in turn; empty when no pass is cut
  step::MessageDurations messages = {};
  std::vector<des::Duration> gathers = {};  ///< in the order of PlanShape::gates
  des::Duration pass_overhead = {};         ///< zero unless PlanShape::stands_still
};

/// What one replay gives.
struct PlanRun {
  std::vector<des::Instant> finished;  ///< per stage: its last pass and the messages it waits for
  /// [stage][chunk][block]: ends of the blocks of the pass that completes the gradients; empty unless they are cut.
  std::vector<std::vector<std::vector<des::Instant>>> gradient_blocks;
  des::Instant last;  ///< the end of everything
};

class PipelinePlan {
 public:
  /// Precondition: `program` is the schedule's for that shape.
  PipelinePlan(const PlanShape& shape, const schedule::Program& program);

  /// `scratch` is memory that a thread keeps between replays.
  [[nodiscard]] PlanRun replay(const PlanTimes& times, std::vector<std::int64_t>& scratch) const;
  [[nodiscard]] std::size_t tasks() const { return steps_.size() - 1; }
  /// All durations together, of which no instant is later; a double, as the clock may not hold it.
  [[nodiscard]] double total_ps(const PlanTimes& times) const;

 private:
  struct Step {
    std::uint32_t slot;        // which duration
    std::uint32_t first_wait;  // in waits_, up to the next step's
  };
  /// What the end of the step waits for: of a stage's end, or of a block of gradients.
  using Waits = std::vector<std::uint32_t>;
  [[nodiscard]] static std::vector<std::int64_t> slots_of(const PlanTimes& times);

  std::vector<Step> steps_;
  std::vector<std::uint32_t> waits_;                 // steps that a step waits for
  std::vector<double> uses_;                         // tasks, by slot
  std::vector<Waits> finished_;                      // by stage: the steps that end it
  std::vector<std::vector<Waits>> gradient_blocks_;  // [stage][chunk][block]: the step that ends it
};

}  // namespace foretoken::fast
