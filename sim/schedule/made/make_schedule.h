// Makes an order of passes for given times and a memory limit, with split backward passes (arXiv:2401.10241, section
// 3).
#pragma once

#include <string>

#include "sim/schedule/made/timed_program.h"
#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// Memory of a stage in any unit, for instance bytes: of the activations of one micro-batch, of what remains of them
/// between both parts of the backward pass, and in all.
struct StageLimit {
  double stash = 1, for_weights = 1, limit = 0;
  [[nodiscard]] double largest() const { return stash > for_weights ? stash : for_weights; }
};

/// What a made schedule shortens: the whole pipeline, or the longest stage. The second suits an optimizer without a
/// barrier between stages.
enum class Shorten : std::uint8_t { kMakespan, kLongestSpan };

/// A question for an order.
struct MakeQuestion {
  int microbatches = 1;
  PipelineTimes times;
  Table<Stage, StageLimit> limits;
  Shorten shorten = Shorten::kMakespan;
};

/// A made program and its times.
struct MadeSchedule {
  Program program;
  ProgramTimes times;
  std::string origin;  ///< "made", or the schedule of the catalogue that nothing made beats
};

/// Returns the best order found: of those that greedy rules make, improved by exchanging neighbours, and of the
/// schedules of the catalogue with one chunk a stage that keep the limits. The same question has the same answer.
/// Precondition: a stage and a micro-batch at least, and limits that let every stage run one micro-batch at a time.
[[nodiscard]] MadeSchedule make_schedule(const MakeQuestion& question);

/// Returns the schedule that a job states to have its order made: {"schedule": {"search": true}}.
[[nodiscard]] Schedule schedule_to_make();

/// Returns the most memory that a stage holds, in the unit of its limit.
[[nodiscard]] double most_held(const StageProgram& ops, const StageLimit& limit);

}  // namespace foretoken::schedule
