// Compares a plan's replay with the engine, for programs that no catalogue holds, and copied steps with walked ones.
#include "sim/fast/pipeline_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "sim/des/engine.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using schedule::OpKind;

const std::vector<OpKind> kKinds{OpKind::kForward,        OpKind::kBackward,      OpKind::kBackwardInput,
                                 OpKind::kBackwardWeight, OpKind::kPairedForward, OpKind::kPairedBackward};

// Returns a duration for every kind, chunk and stage. No two are equal.
Duration duration_of(OpKind kind, Stage stage, Chunk chunk) {
  return {1000 + 313 * static_cast<int>(kind) + 37 * stage.number() + 11 * chunk.number()};
}

void expect_equal(const schedule::Program& program, schedule::PipelineShape shape) {
  step::MessageDurations messages;
  step::PassDurations passes;
  PlanTimes times;
  for (const Stage stage : ids<Stage>(shape.stages)) {
    messages.to_next.push_back(Duration{90 + stage.number()});
    messages.to_previous.push_back(Duration{70 + 3 * stage.number()});
    for (const OpKind kind : kKinds) passes[kind].push_back(Table<Chunk, Duration>(shape.chunks));
    for (const Chunk chunk : ids<Chunk>(shape.chunks))
      for (const OpKind kind : kKinds) {
        passes[kind][stage][chunk] = duration_of(kind, stage, chunk);
        times.passes.push_back(duration_of(kind, stage, chunk));
      }
  }
  times.messages = messages;
  for (const Stage stage : ids<Stage>(shape.stages)) times.moves.push_back(Duration{210 + 5 * stage.number()});

  step::Workload workload;
  step::add_stage_streams(workload, shape.stages);
  const step::PipelineOptions options{
      .policy = step::MessagePolicy::kAsProduced,
      .messages = messages,
      .moves = times.moves,
      .move_row = [](Stage from) { return step::bare_message(from, from, step::Purpose::kMovedActivations); }};
  (void)step::lower_pipeline(workload, program, options, *step::fixed_passes(passes));

  const PlanShape plan_shape{.schedule = "of the test",
                             .stages = shape.stages,
                             .chunks = shape.chunks,
                             .microbatches = shape.microbatches,
                             .kinds = kKinds,
                             .policy = step::MessagePolicy::kAsProduced,
                             .moves = true};
  std::vector<std::int64_t> scratch;
  const PlanRun run = PipelinePlan(plan_shape, program).replay(times, scratch);
  EXPECT_EQ(run.last, des::run(workload.graph).makespan);
}

TEST(PipelinePlan, ReplaysSplitPlacedAndPairedProgramsAsTheEngineDoes) {
  for (const char* file : {"golden_split_schedules.json", "golden_paired_schedules.json", "golden_bpipe.json"}) {
    const nlohmann::json golden = schedule::golden_file(file);
    for (const auto& row : golden.at("cases")) {
      SCOPED_TRACE(row.at("schedule").get<std::string>() + " p " + row.at("p").dump() + " m " + row.at("m").dump());
      expect_equal(schedule::golden_program(row), schedule::shape_of(row));
    }
  }
}

// Draws durations of every part of a pipeline.
PlanTimes random_times(const PlanShape& shape, std::mt19937& random) {
  const auto draw = [&] { return Duration{static_cast<std::int64_t>(1 + random() % 1000)}; };
  PlanTimes times;
  for (int stage = 0; stage < shape.stages; ++stage) {
    times.messages.to_next.push_back(draw());
    times.messages.to_previous.push_back(draw());
    if (shape.moves) times.moves.push_back(draw());
  }
  const std::size_t passes =
      static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks) * shape.kinds.size();
  for (std::size_t pass = 0; pass < passes; ++pass) {
    times.passes.push_back(draw());
    times.held.push_back(Duration{draw().ps * 20});
  }
  if (shape.stands_still) times.pass_overhead = draw();
  return times;
}

// Plans a shape with copies and without, and compares replays. Returns the number of copied steps.
std::size_t copied_as_walked(const PlanShape& shape, const schedule::Program& program, std::mt19937& random) {
  const PipelinePlan plan(shape, program), walked = PipelinePlan::without_copies(shape, program);
  EXPECT_EQ(plan.steps(), walked.steps());
  const PlanTimes times = random_times(shape, random);
  EXPECT_EQ(plan.total_ps(times), walked.total_ps(times));
  std::vector<std::int64_t> scratch, other;
  const PlanRun run = plan.replay(times, scratch), expected = walked.replay(times, other);
  EXPECT_EQ(run.last, expected.last);
  EXPECT_EQ(run.finished, expected.finished);
  const auto passes = plan.last_passes(scratch), expected_passes = walked.last_passes(other);
  for (const Stage stage : expected_passes.ids())
    for (const Chunk chunk : expected_passes[stage].ids()) {
      EXPECT_EQ(passes[stage][chunk].kind, expected_passes[stage][chunk].kind);
      EXPECT_EQ(passes[stage][chunk].end, expected_passes[stage][chunk].end);
    }
  return plan.copied_steps();
}

std::vector<step::MessagePolicy> policies_of(const schedule::Schedule& schedule, int chunks) {
  std::vector<step::MessagePolicy> policies{step::MessagePolicy::kAsProduced};
  if (schedule.posting == schedule::Posting::kAsProduced) return policies;
  policies.push_back(step::MessagePolicy::kBlocking);
  if (chunks > 1) policies.push_back(step::MessagePolicy::kOverlapped);
  return policies;
}

TEST(PipelinePlan, CopiesOfRepetitionsReplayAsAWalkOverEveryPass) {
  std::mt19937 random(20261128);
  std::map<std::string, std::size_t> copied;  // steps, by schedule
  std::size_t plans = 0;
  for (const schedule::Schedule& schedule : schedule::all_schedules()) {
    if (schedule.without_flush) continue;
    for (int tries = 0; tries < 60; ++tries) {
      const int stages = 1 + static_cast<int>(random() % 8);
      schedule::PipelineShape shape{.stages = stages,
                                    .microbatches = 1 + static_cast<int>(random() % 90),
                                    .chunks = random() % 2 == 0 ? 1 : 1 + static_cast<int>(random() % 4)};
      if (random() % 2 == 0) shape.microbatches = stages * (1 + static_cast<int>(random() % 12));
      if (schedule.interleaves && random() % 3 == 0) shape.group = stages + static_cast<int>(random() % 4);
      if (why_not(schedule, shape)) continue;
      const schedule::Program program = schedule.build(shape);
      for (const step::MessagePolicy policy : policies_of(schedule, shape.chunks)) {
        SCOPED_TRACE(schedule.name + " p " + std::to_string(shape.stages) + " m " + std::to_string(shape.microbatches) +
                     " v " + std::to_string(shape.chunks) + " G " + std::to_string(shape.group) + " policy " +
                     std::to_string(static_cast<int>(policy)));
        const PlanShape plan{.schedule = schedule.name,
                             .stages = shape.stages,
                             .chunks = shape.chunks,
                             .microbatches = shape.microbatches,
                             .group = shape.group,
                             .kinds = pass_kinds(schedule),
                             .policy = policy,
                             .stands_still = random() % 2 == 0,
                             .moves = schedule.moves_activations && random() % 2 == 0};
        copied[schedule.name] += copied_as_walked(plan, program, random);
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 300u);
  for (const char* name : {"1f1b", "interleaved-1f1b", "eager-1f1b", "zb-h1", "zb-h2", "interleaved-zb"})
    EXPECT_GT(copied[name], 1000u) << name;
}

TEST(PipelinePlan, WalksOverAFewRepetitionsOfALongPipeline) {
  const schedule::Schedule interleaved = schedule::schedule_named("interleaved-1f1b");
  const PlanShape shape{
      .schedule = interleaved.name, .stages = 16, .chunks = 6, .microbatches = 192, .kinds = pass_kinds(interleaved)};
  const PipelinePlan plan(shape, interleaved.build({.stages = 16, .microbatches = 192, .chunks = 6}));
  EXPECT_GT(plan.copied_steps(), plan.steps() / 2);
}

}  // namespace
}  // namespace foretoken::fast
