// Carries out a pipeline without a graph: every stage follows its host program until it has to wait for a message.
//
// The instants are those of the graph that step::lower_pipeline writes. A task starts when the last of the tasks before
// it has ended, so the order in which stages take turns does not matter. Nothing is kept of a task but the end of its
// message, and the spans of one stage.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/intervals.h"
#include "sim/fast/pipeline_plan.h"

namespace foretoken::fast {

/// A pipeline and the times of its parts.
struct WalkedPipeline {
  const schedule::Program& program;
  const step::Passes& passes;
  step::MessagePolicy policy = step::MessagePolicy::kBlocking;  ///< not kLatency
  step::MessageDurations messages = {};
  Table<Stage, des::Duration> moves = {};  ///< as in step::PipelineOptions
  BlockEnds gates = {};                    ///< instants before which the blocks of a chunk's first pass do not start
  bool gradient_blocks = false;
  des::Duration pass_overhead = {};
  Stage shown = {};  ///< the stage whose spans are kept
};

/// A message between the shown stage and another, by its sender.
struct WalkedMessage {
  Stage from;
  schedule::Neighbour link, carries_to;
  Interval span;
};

/// The spans of the shown stage.
struct ShownStage {
  std::vector<Interval> passes;   ///< from the start of the first block to the end of the last
  std::vector<Interval> parts;    ///< passes, block by block where they are cut
  std::vector<Interval> between;  ///< the GPU stands still
  std::vector<WalkedMessage> messages;
};

/// A move of activations from a stage to its partner, or back.
struct WalkedMove {
  Stage from;
  Interval span;
};

struct Walk {
  PlanRun ends;
  Table<Stage, des::Instant> first_forward_start, last_backward_end;
  ShownStage shown;
  std::vector<WalkedMove> moves;
  std::size_t tasks = 0;
  std::int64_t most_sends = 0;  ///< messages that the busiest stage sends
  double total_ps = 0;          ///< of all durations; the clock may not hold it
};

/// Walks a pipeline to its end. Precondition: its program has a flush.
[[nodiscard]] Walk walk_pipeline(const WalkedPipeline& pipeline);

}  // namespace foretoken::fast
