// Compares a plan's replay with the engine, for programs that no catalogue holds.
#include "sim/fast/pipeline_plan.h"

#include <gtest/gtest.h>

#include "sim/des/engine.h"
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

}  // namespace
}  // namespace foretoken::fast
