#include "sim/fast/forward_only.h"

#include "sim/fast/pipeline_walk.h"
#include "sim/step/forward_only.h"
#include "sim/step/lower.h"

namespace foretoken::fast {

Seconds forward_only_time(const job::Job& trained) {
  if (trained.optimizer.shards_gradients()) return step::forward_only_time(trained);
  const job::Job job = step::evaluation_of(trained);
  const step::Passes passes(job);
  const schedule::Program program = step::forward_passes(job);
  const Walk walk = walk_pipeline({.program = program,
                                   .passes = passes,
                                   .policy = step::MessagePolicy::kAsProduced,
                                   .messages = step::message_durations(job),
                                   .pass_overhead = step::pass_overhead(job)});
  return des::to_seconds(walk.ends.last - des::Instant{});
}

}  // namespace foretoken::fast
