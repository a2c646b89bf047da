// Tests replayed schedules: golden cases exactly, and the bubbles of 1F1B printed in the zero-bubble paper.
#include "sim/study/schedule_replay.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/op_text.h"
#include "sim/step/pipeline/test_zero_bubble.h"

namespace foretoken::study {
namespace {

using nlohmann::json;

schedule::Program build(const std::string& name, schedule::PipelineShape shape) {
  return schedule::find_schedule(name)->build(shape);
}

ReplayTimes times(int chunks, des::Duration forward, des::Duration backward, des::Duration message) {
  using ByChunk = Table<Chunk, des::Duration>;
  return {.passes = {{schedule::OpKind::kForward, ByChunk(chunks, forward)},
                     {schedule::OpKind::kBackward, ByChunk(chunks, backward)}},
          .message = message};
}

TEST(ScheduleReplay, BubblesOf1F1BAreThoseOfTheZeroBubblePaper) {
  for (const step::ZeroBubbleRow& row : step::kZeroBubble) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.microbatches << " micro-batches");
    const auto ms = [](double value) { return des::to_duration(Seconds(value * 1e-3)); };
    const Replay result = replay(build("1f1b", {.stages = row.stages, .microbatches = row.microbatches}),
                                 times(1, ms(row.forward), ms(row.backward()), ms(row.message)));
    EXPECT_NEAR(result.bubble_fraction_of_step(), row.bubble, 0.5e-4);
  }
}

// The paper defines T as the longest time of one stage from its first pass to its last. The results agree, because
// stage 0 starts first and ends last.
TEST(ScheduleReplay, StageZeroOf1F1BSpansThePipeline) {
  const Replay result = replay(build("1f1b", {.stages = 8, .microbatches = 24}), times(1, {18'522}, {27'423}, {601}));
  const auto& first_stage = result.workload.passes.front();
  EXPECT_EQ(result.run.end[first_stage.back().last.value] - result.run.start[first_stage.front().first.value],
            result.pipeline);
}

void expect_golden(const json& golden, const schedule::Program& program, int chunks, const json& metrics) {
  const json& cost = metrics["cost"];
  const Replay result = replay(program, times(chunks, {cost["F"].get<std::int64_t>()}, {cost["B"].get<std::int64_t>()},
                                              {cost["comm"].get<std::int64_t>()}));
  EXPECT_EQ(result.run.makespan.ps, metrics["makespan"].get<std::int64_t>());
  for (const Stage stage : program.stages.ids()) {
    for (std::size_t at = 0; at < result.workload.passes[stage].size(); ++at) {
      const step::PassTasks& pass = result.workload.passes[stage][at];
      EXPECT_EQ(pass.op, *schedule::parse_op(golden["orders"][stage.index()][at].get<std::string>()));
      if (!metrics.contains("start")) continue;
      EXPECT_EQ(result.run.start[pass.first.value].ps, metrics["start"][stage.index()][at].get<std::int64_t>());
    }
  }
}

TEST(ScheduleReplay, GoldenSchedulesAreExact) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/sim/schedule/testdata/golden_schedules.json");
  const json data = json::parse(file);
  std::size_t cases = 0;
  for (const json& golden : data["cases"]) {
    const int chunks = golden["v"].get<int>();
    std::string name = golden["schedule"].get<std::string>();
    if (name == "gpipe_lifo") name = "gpipe";
    if (name == "gpipe_fifo") name = "gpipe-fifo";
    if (name == "interleaved_1f1b") name = "interleaved-1f1b";
    SCOPED_TRACE(name + golden["p"].dump() + "x" + golden["m"].dump() + "x" + golden["v"].dump());
    const schedule::Program program = build(name, {.stages = golden["p"].get<int>(),
                                                   .microbatches = golden["m"].get<int>(),
                                                   .chunks = chunks,
                                                   .group = golden.value("group", 0)});
    expect_golden(golden, program, chunks, golden["metrics_equal"]);
    expect_golden(golden, program, chunks, golden["metrics_unequal"]);
    ++cases;
  }
  EXPECT_EQ(cases, 22U);
}

TEST(ScheduleReplay, BlockingMessagesNeverHelp) {
  for (const char* name : {"gpipe", "gpipe-fifo", "1f1b"}) {
    const schedule::Program program = build(name, {.stages = 4, .microbatches = 9});
    const ReplayTimes free = times(1, {1000}, {2000}, {150});
    ReplayTimes blocking = free;
    blocking.blocking = true;
    EXPECT_LE(replay(program, free).run.makespan, replay(program, blocking).run.makespan) << name;
  }
}

}  // namespace
}  // namespace foretoken::study
