// Properties of a configuration known before it is replayed: its memory exactly, its step time from below.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/job/layout.h"
#include "sim/observe/memory_timeline.h"
#include "sim/schedule/program.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/passes.h"

namespace foretoken::search {

/// The stages of a pipeline that hold the same parts of the model, with counts of the order of their passes. Jobs whose
/// stages hold the same and whose passes have the same order share it.
struct PassOrder {
  /// Stages that hold the same.
  struct Alike {
    std::vector<Stage> stages;
    job::StageContents contents;
    std::optional<observe::MostAlive> most = {};  ///< on any of them; absent: only a walk over their ops can tell
  };
  /// Precondition: `program` is step::program_of(job).
  PassOrder(const job::Job& job, const schedule::Program& program);

  std::vector<Alike> kinds;
  Table<Stage, int> warm_up;  ///< as schedule::Program::warm_up
};

/// Returns the allocator's peak of the fullest stage, as simulate reports it. Memory depends on the order of passes,
/// not on their times. Counts of passes are often enough. Where they are not, step::program_of(job) tells it: an empty
/// `program` is set to it then.
[[nodiscard]] Bytes peak_memory(const step::JobMemory& memory, const job::Job& job, const PassOrder& order,
                                std::optional<schedule::Program>& program);
[[nodiscard]] Bytes peak_memory(const job::Job& job);

/// Returns true when simulate would say that this peak fits.
[[nodiscard]] bool fits(const job::Job& job, Bytes peak);

/// Returns a lower bound of the step time: no replay of `job` ends earlier.
///
/// A stage starts when the first micro-batch has come down to it. It then works off all its passes one after the other.
/// After its last pass a gradient still climbs to the first stage. For every stage s, with forward and backward times
/// f, b of chunk 0, message times c and all passes of a stage W:
///
///   end(s) >= sum over r < s of (f_r + c_r) + W_s + G_s,   end(r) >= end(r+1) + c + b_r.
///
/// G_s is the time between the passes of the stage. Its GPU stands still for the overhead of a pass. Where messages are
/// posted as Megatron does, it also waits for the messages that it posts between two passes
/// (step/pipeline/megatron_messages.h): each takes its own time at least.
///
/// The end of the step follows from these ends. It only adds times and takes the largest, so it ends no earlier than
/// with these bounds.
/// Holds for every schedule of whole passes whose virtual stage k p + r stands on stage r. Proof and test:
/// docs/user/search.md. Schedules that split their backward passes, or place stages otherwise, have the first bound
/// only: no gradient need climb after the last pass of a stage. Messages then take the shorter of both directions.
///
/// Where steps overlap, the mean step of a full pipeline takes at least all passes of its busiest stage.
///
/// It bounds several jobs at once that differ from `job` in overlaps only. `passes` then holds the passes of each, and
/// every pass counts as long as the shortest of its kind. Messages take the same time in all. `job` has the overlap of
/// parameter gathers if one of them has it, because a gather at the end only adds time. It has the overlap of messages
/// if one of them has it, because stages then wait less. With `hides_reduction` some reduce gradients beside passes and
/// others do not, and the reduction counts nothing. Precondition: `passes` is not empty. `order` is that of the job's
/// passes.
[[nodiscard]] des::Duration least_step_time(const job::Job& job, std::span<const step::Passes> passes,
                                            const PassOrder& order, bool hides_reduction = false);

}  // namespace foretoken::search
