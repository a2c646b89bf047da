// Checks that the batch divides over the replicas, and that the schedule takes the resulting pipeline.
#include <fmt/format.h>

#include "sim/base/check.h"
#include "sim/base/text.h"
#include "sim/job/rules/rules.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::job {
namespace {

schedule::Schedule default_schedule(bool interleaves) {
  const auto found = schedule::find_schedule(interleaves ? "interleaved-1f1b" : "1f1b");
  expects(found.has_value(), "the catalogue has the default schedules");
  return *found;
}

}  // namespace

bool settle_schedule(Draft& draft) {
  const int chunks = draft.job.parallelism.virtual_pipeline;
  const schedule::Schedule schedule =
      draft.question.choices.schedule ? *draft.question.choices.schedule : default_schedule(chunks > 1);
  draft.job.schedule = schedule;
  if (schedule.interleaves == (chunks > 1)) return true;
  const std::string name = in_quotes(schedule.name);
  if (schedule.interleaves) {
    draft.complain("/schedule", fmt::format("{} needs parallelism.virtual_pipeline of at least 2, found 1", name));
  } else {
    draft.complain("/schedule", fmt::format("{} does not interleave, but parallelism.virtual_pipeline is {}; try "
                                            "\"interleaved-1f1b\"",
                                            name, chunks));
  }
  return false;
}

bool batch_divides(Draft& draft) {
  const Batch& batch = draft.job.batch;
  const int data = draft.job.parallelism.data;
  const std::int64_t unit = batch.micro * data;
  if (batch.global % unit == 0) return true;
  draft.complain("/batch/global",
                 fmt::format("expected a multiple of micro {} x data {} = {}, found {}; try {}", batch.micro, data,
                             unit, batch.global, multiples_near(batch.global, unit)));
  return false;
}

void check_schedule(Draft& draft) {
  constexpr std::int64_t kMostPasses = 10'000'000;  // forward and backward passes of one pipeline: two gigabytes
  const Job& job = draft.job;
  const std::int64_t microbatches = job.batch.global / (job.batch.micro * job.parallelism.data);
  const std::int64_t chunks = std::int64_t{job.parallelism.pipeline} * job.parallelism.virtual_pipeline;
  if (microbatches > kMostPasses / (2 * chunks)) {
    draft.complain("/batch/global",
                   fmt::format("{} micro-batches over {} chunks are more than can be simulated ({} passes)",
                               microbatches, chunks, kMostPasses));
    return;
  }
  const auto wrong = schedule::why_not(job.schedule, {.stages = job.parallelism.pipeline,
                                                      .microbatches = static_cast<int>(microbatches),
                                                      .chunks = job.parallelism.virtual_pipeline,
                                                      .group = job.batch.microbatch_group.value_or(0)});
  if (wrong) draft.complain("/schedule", *wrong);
}

}  // namespace foretoken::job
