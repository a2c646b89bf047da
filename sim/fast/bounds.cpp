// Computes memory from the order of passes, and a lower bound of the step from their lengths.
#include "sim/fast/bounds.h"

#include <algorithm>
#include <vector>

#include "sim/fast/replay.h"
#include "sim/observe/memory_timeline.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"

namespace foretoken::search {

using des::Duration;
using des::Instant;
using schedule::OpKind;

Bytes peak_memory(const job::Job& job, const schedule::Program& program) {
  Bytes peak;
  const step::JobMemory memory(job);
  for (int stage = 0; stage < job.parallelism.pipeline; ++stage)
    peak = std::max(peak, memory.held(id_of<Stage>(stage)).total() +
                              observe::peak_live_bytes(job, stage, program.stages[id_of<Stage>(stage)]));
  return peak;
}

bool fits(const job::Job& job, Bytes peak) { return peak + step::outside_allocator(job) <= job.cluster.gpu.memory; }

Duration least_step_time(const job::Job& job, const step::Passes& passes) {
  const int stages = job.parallelism.pipeline, chunks = job.parallelism.virtual_pipeline;
  const auto microbatches = static_cast<std::int64_t>(job.microbatches());
  const step::MessageDurations messages = step::message_durations(job);
  fast::PlanRun ends;
  Instant first;  // earliest arrival of the first micro-batch at a stage
  for (int stage = 0; stage < stages; ++stage) {
    Duration work;
    for (int chunk = 0; chunk < chunks; ++chunk)
      work +=
          passes.timing(stage, chunk, OpKind::kForward).total + passes.timing(stage, chunk, OpKind::kBackward).total;
    ends.finished.push_back(first + Duration{work.ps * microbatches});
    first = first + passes.timing(stage, 0, OpKind::kForward).total;
    if (stages > 1) first = first + messages.to_next[id_of<Stage>(stage)];
  }
  for (int stage = stages - 2; stage >= 0; --stage) {
    const auto at = static_cast<std::size_t>(stage);
    const Instant after = ends.finished[at + 1] + messages.to_previous[id_of<Stage>(stage + 1)] +
                          passes.timing(stage, 0, OpKind::kBackward).total;
    ends.finished[at] = std::max(ends.finished[at], after);
  }
  if (job.overlap.grad_reduce) {
    const Instant start;  // of gradients, only the very last ones have a bound
    for (int stage = 0; stage < stages; ++stage) {
      auto& of_stage = ends.gradient_blocks.emplace_back();
      for (int chunk = 0; chunk < chunks; ++chunk)
        of_stage.emplace_back(passes.timing(stage, chunk, OpKind::kBackward).block_ends.size(), start);
    }
    ends.gradient_blocks[0][0].back() = ends.finished[0];
  }
  ends.last = ends.finished[0];
  return fast::finish_step(job, ends);
}

}  // namespace foretoken::search
