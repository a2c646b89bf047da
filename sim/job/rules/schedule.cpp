// Checks that the batch divides over the replicas, and that the schedule takes the resulting pipeline.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/layout.h"
#include "sim/job/rules/rules.h"
#include "sim/schedule/async/versions.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::job {
namespace {

schedule::Schedule default_schedule(bool interleaves) {
  const auto found = schedule::find_schedule(interleaves ? "interleaved-1f1b" : "1f1b");
  expects(found.has_value(), "the catalogue has the default schedules");
  return *found;
}

constexpr std::int64_t kLargestBatch = 1 << 30;  // as large as a scenario may state it

void set_batch(Question& question, std::int64_t value) { question.choices.batch.global = value; }

// One chunk a stage, which every schedule without interleaving takes.
Choice one_chunk() {
  const auto set = [](Question& question) { question.choices.parallelism.virtual_pipeline = 1; };
  return {.key = "parallelism.virtual_pipeline", .tries = {{"1", set}}};
}

// Returns other batches, groups and numbers of stages that the schedule takes.
Advice shapes_near(const Job& job, const schedule::PipelineShape& shape) {
  constexpr int kMostSteps = 256;
  const auto takes = [&](schedule::PipelineShape other) { return !schedule::why_not(job.schedule, other); };
  const std::int64_t unit = job.batch.micro * job.parallelism.data;
  Choice fewer{.key = "batch.global", .tries = {}}, more = fewer;
  const auto add = [&](Choice& choice, int microbatches) {
    schedule::PipelineShape other = shape;
    other.microbatches = microbatches;
    const std::int64_t batch = microbatches * unit;
    if (microbatches < 1 || batch > kLargestBatch || !takes(other)) return;
    choice.tries.push_back({fmt::format("{}", batch), [batch](Question& question) { set_batch(question, batch); }});
  };
  for (int steps = 1; steps <= std::max(kMostSteps, 2 * shape.stages); ++steps) {
    add(fewer, shape.microbatches - steps);
    add(more, shape.microbatches + steps);
  }
  Choice groups{.key = "batch.microbatch_group", .tries = {}};
  schedule::PipelineShape other = shape;
  for (other.group = 1; other.group <= std::min(shape.microbatches, shape.stages + kMostSteps); ++other.group)
    if (takes(other))
      groups.tries.push_back({fmt::format("{}", other.group), [group = other.group](Question& question) {
                                question.choices.batch.microbatch_group = group;
                              }});
  const auto no_group = [](Question& question) { question.choices.batch.microbatch_group.reset(); };
  if (shape.group > 0) groups.tries.push_back({"null", no_group});
  Choice stages = numbers_that_work(
      "parallelism.pipeline", 2, [&](std::int64_t number) { return number == 2 && shape.stages < 2; },
      set_degree(Axis::kPipeline));
  return {fewer, more, groups, stages};
}

}  // namespace

namespace {

// Checks that the pipeline has the rows and stages of a schedule from a file. No other rule is asked about them.
bool has_own_shape(Draft& draft, const schedule::Schedule& schedule) {
  const Parallelism& parallelism = draft.job.parallelism;
  const schedule::PipelineShape& own = *schedule.only_shape;
  if (own.stages == parallelism.pipeline && own.chunks == parallelism.virtual_pipeline) return true;
  const std::string needed =
      fmt::format("parallelism.pipeline {} and parallelism.virtual_pipeline {}", own.stages, own.chunks);
  draft.complain("/schedule",
                 fmt::format("{} has {} of {} each: expected {}, found {} and {}; try {}", in_quotes(schedule.name),
                             with_noun(own.stages, "row"), with_noun(own.chunks, "stage"), needed, parallelism.pipeline,
                             parallelism.virtual_pipeline, needed));
  return false;
}

}  // namespace

bool settle_schedule(Draft& draft) {
  const int chunks = draft.job.parallelism.virtual_pipeline;
  const schedule::Schedule schedule =
      draft.question.choices.schedule ? *draft.question.choices.schedule : default_schedule(chunks > 1);
  draft.job.schedule = schedule;
  if (schedule.only_shape) return has_own_shape(draft, schedule);
  if (schedule.copies > 1)
    draft.notes.assumptions.push_back(fmt::format(
        "schedule {}: every pipeline holds two copies of the model, each with optimizer states of its own; their "
        "gradients are reduced between them after the last pass (docs/modeller/schedules.md)",
        schedule.name));
  if (schedule.interleaves == (chunks > 1)) return true;
  const std::string name = in_quotes(schedule.name);
  if (schedule.interleaves) {
    draft.complain("/schedule", fmt::format("{} needs parallelism.virtual_pipeline of at least 2, found 1", name), [] {
      const auto chunks_of = [](Question& question, std::int64_t value) {
        question.choices.parallelism.virtual_pipeline = static_cast<int>(value);
      };
      const auto one_each = [](Question& question) { question.choices.schedule = default_schedule(false); };
      return Advice{{.key = {}, .tries = {{"\"1f1b\"", one_each}}},
                    numbers_that_work(
                        "parallelism.virtual_pipeline", 4, [](std::int64_t value) { return value > 1; }, chunks_of)};
    });
  } else {
    draft.complain(
        "/schedule", fmt::format("{} does not interleave, but parallelism.virtual_pipeline is {}", name, chunks), [] {
          const auto interleave = [](Question& question) { question.choices.schedule = default_schedule(true); };
          return Advice{{.key = {}, .tries = {{"\"interleaved-1f1b\"", interleave}}}, one_chunk()};
        });
  }
  return false;
}

bool batch_divides(Draft& draft) {
  const Batch& batch = draft.job.batch;
  const int data = draft.job.parallelism.data;
  const std::int64_t unit = batch.micro * data;
  if (batch.global % unit == 0) return true;
  draft.complain(
      "/batch/global",
      fmt::format("expected a multiple of micro {} x data {} = {}, found {}", batch.micro, data, unit, batch.global),
      [&] { return multiples_near(batch.global, unit, kLargestBatch, set_batch); });
  return false;
}

namespace {

// Weights that change inside the pipeline are whole on every replica: no other rank waits for a shard of them.
void check_without_flush(Draft& draft) {
  const Job& job = draft.job;
  if (job.optimizer.zero_stage > 0)
    draft.complain("/optimizer/zero_stage",
                   fmt::format("expected 0 with the schedule {}, which updates its weights while the pipeline runs, "
                               "found {}",
                               job.schedule.name, job.optimizer.zero_stage),
                   [] {
                     return Advice{{.key = "optimizer.zero_stage",
                                    .tries = {{"0", [](Question& question) { question.choices.zero_stage = 0; }}}}};
                   });
  draft.notes.warnings.emplace_back(
      "without a flush, gradients meet weights that have changed since their forward pass: how well the model then "
      "learns is not predicted");
  draft.notes.assumptions.emplace_back(
      "without a flush, the step is the mean of a full pipeline, and stages update by themselves: no gradient norm is "
      "taken over all ranks");
}

// A stage updates by itself, and what stages share over the pipeline would have to wait for others.
void check_post_validation(Draft& draft) {
  const Job& job = draft.job;
  const auto refuse = [&](const std::string& why) {
    draft.complain("/optimizer/post_validation", "expected false " + why);
  };
  if (job.parallelism.pipeline == 1) refuse("without a pipeline: no stage waits for another");
  if (job.schedule.without_flush || job.schedule.posting != schedule::Posting::kAsProduced ||
      job.parallelism.copies > 1)
    refuse(fmt::format("with the schedule {}; try zb-h1 or zb-h2", job.schedule.name));
  if (job.optimizer.zero_stage > 0) refuse("with optimizer.zero_stage: shards are gathered after the norm is known");
  if (job.offload.any()) refuse("with offload: the host updates once the norm is known");
  if (stages_share_embedding(job)) refuse("where the first and the last stage share the embedding; untie it");
  draft.notes.assumptions.emplace_back(
      "with post-validation, the step is the mean of a full pipeline: stages update by themselves, the norm is checked "
      "beside the next step, and no update is taken back");
}

}  // namespace

void check_schedule(Draft& draft) {
  constexpr std::int64_t kMostPasses = 5'000'000;  // forward and backward passes of one pipeline: up to four gigabytes
  const Job& job = draft.job;
  const std::int64_t microbatches = job.batch.global / (job.batch.micro * job.parallelism.data);
  const schedule::PipelineShape a_step{.stages = job.parallelism.pipeline,
                                       .microbatches = static_cast<int>(std::min(microbatches, kMostPasses))};
  const std::int64_t steps = job.overlaps_steps() ? schedule::steady_run(a_step).steps() : 1;
  const std::int64_t chunks = std::int64_t{job.parallelism.pipeline} * job.parallelism.virtual_pipeline;
  if (microbatches > kMostPasses / (2 * chunks * steps)) {
    draft.complain("/batch/global",
                   fmt::format("{} micro-batches over {} chunks are more than can be simulated ({} passes)",
                               microbatches, chunks, kMostPasses));
    return;
  }
  const schedule::PipelineShape shape{.stages = job.parallelism.pipeline,
                                      .microbatches = static_cast<int>(microbatches),
                                      .chunks = job.parallelism.virtual_pipeline,
                                      .group = job.batch.microbatch_group.value_or(0)};
  const auto wrong = schedule::why_not(job.schedule, shape);
  if (job.schedule.without_flush) check_without_flush(draft);
  if (job.optimizer.post_validation) check_post_validation(draft);
  // The schedule's own advice does not know the other rules.
  if (wrong)
    draft.complain("/schedule", wrong->substr(0, wrong->find("; try ")), [&] { return shapes_near(job, shape); });
}

}  // namespace foretoken::job
