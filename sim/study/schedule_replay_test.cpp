// Tests replayed schedules: golden cases exactly, and the bubbles of 1F1B printed in the zero-bubble paper.
#include "sim/study/schedule_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/async/versions.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/op_text.h"
#include "sim/schedule/test_programs.h"
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

ReplayTimes split_times(int chunks, des::Duration forward, des::Duration input, des::Duration weight,
                        des::Duration message) {
  using ByChunk = Table<Chunk, des::Duration>;
  ReplayTimes all = times(chunks, forward, input + weight, message);
  all.passes[schedule::OpKind::kBackwardInput] = ByChunk(chunks, input);
  all.passes[schedule::OpKind::kBackwardWeight] = ByChunk(chunks, weight);
  return all;
}

// Returns the share of the longest stage in which it waits: from its first pass to the end of its last.
double bubble_of_longest_stage(const Replay& replay) {
  double longest = 0, work = 0;
  for (const auto& passes : replay.workload.passes) {
    const des::Duration span = replay.run.end[passes.back().last.value] - replay.run.start[passes.front().first.value];
    if (static_cast<double>(span.ps) <= longest) continue;
    longest = static_cast<double>(span.ps);
    work = 0;
    for (const step::PassTasks& pass : passes)
      work += static_cast<double>((replay.run.end[pass.last.value] - replay.run.start[pass.first.value]).ps);
  }
  return 1 - work / longest;
}

des::Duration ms(double value) { return des::to_duration(Seconds(value * 1e-3)); }

// 36 bubbles of Table 5 from the times of Table 9, to four decimals: 1F1B has them in the test below.
TEST(ScheduleReplay, ZeroBubbleSchedulesHaveTheBubblesOfTheirPaper) {
  for (const step::ZeroBubbleRow& row : step::kZeroBubble)
    for (const auto& [name, published] : {std::pair{"1f1b", row.bubble}, {"zb-h1", row.zb_h1}, {"zb-h2", row.zb_h2}}) {
      SCOPED_TRACE(testing::Message() << name << ", " << row.stages << " stages, " << row.microbatches);
      const Replay result =
          replay(build(name, {.stages = row.stages, .microbatches = row.microbatches}),
                 split_times(1, ms(row.forward), ms(row.input_gradient), ms(row.weight_gradient), ms(row.message)));
      EXPECT_NEAR(bubble_of_longest_stage(result), published, 0.5e-4);
    }
}

// The paper's rule for interleaving: (p-1)/v passes of all kinds, and 2(pv-1) - p messages. A first pass of the last
// chunk, and the last backward pass of the first, are 2(pv-1) messages apart from the other end, so our replays have p
// messages more.
TEST(ScheduleReplay, TheRuleBehindTheBubblesOfInterleavingIsFound) {
  for (const step::ZeroBubbleRow& row : step::kZeroBubble) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.microbatches << " micro-batches");
    const double pass = row.forward + row.backward(), work = row.microbatches * pass;
    const double messages = 2.0 * (row.stages * row.chunks - 1) - row.stages;
    const double idle = (row.stages - 1) * pass / row.chunks + messages * row.message;
    EXPECT_NEAR(idle / (work + idle), row.interleaved, 0.5e-4);
  }
}

// In a replay every pass awaits its message. The paper's program leaves some out: replays are 1.6 to 4.2 % above it.
TEST(ScheduleReplay, BubblesOfInterleavingAreThoseOfTheZeroBubblePaperWithinAFewPercent) {
  for (const step::ZeroBubbleRow& row : step::kZeroBubble) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.microbatches << " micro-batches");
    const Replay result = replay(
        build("interleaved-1f1b", {.stages = row.stages, .microbatches = row.microbatches, .chunks = row.chunks}),
        times(row.chunks, ms(row.forward / row.chunks), ms(row.backward() / row.chunks), ms(row.message)));
    EXPECT_NEAR(bubble_of_longest_stage(result) / row.interleaved, 1, 0.042);
  }
}

// Table 2: peak activations of ZB-H1 are those of the first stage of 1F1B; ZB-H2 has (2p-1)/p times as many.
TEST(ScheduleReplay, IdleTimeOfZeroBubbleSchedulesFollowsTheirFormulas) {
  const std::int64_t f = 1000, i = 1100, w = 800;
  for (const int stages : {2, 3, 4, 6, 8})
    for (const int times_p : {2, 3, 5}) {
      const schedule::PipelineShape shape{.stages = stages, .microbatches = times_p * stages};
      const auto idle_of_longest = [&](const char* name) {
        const Replay result = replay(build(name, shape), split_times(1, {f}, {i}, {w}, {}));
        std::int64_t longest = 0;
        for (const auto& passes : result.workload.passes)
          longest = std::max(
              longest, (result.run.end[passes.back().last.value] - result.run.start[passes.front().first.value]).ps);
        return longest - shape.microbatches * (f + i + w);
      };
      EXPECT_EQ(idle_of_longest("1f1b"), (stages - 1) * (f + i + w)) << stages;
      EXPECT_EQ(idle_of_longest("zb-h1"), (stages - 1) * (f + i - w)) << stages;
      EXPECT_EQ(idle_of_longest("zb-h2"), (stages - 1) * (f + i - 2 * w)) << stages;
    }
}

TEST(ScheduleReplay, BubblesOf1F1BAreThoseOfTheZeroBubblePaper) {
  for (const step::ZeroBubbleRow& row : step::kZeroBubble) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.microbatches << " micro-batches");
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

TEST(ScheduleReplay, FurtherGoldenSchedulesTakeTheGoldenTime) {
  const std::map<std::string, std::string> names = {{"eager_1f1b", "eager-1f1b"},
                                                    {"zb_h1", "zb-h1"},
                                                    {"zb_h2", "zb-h2"},
                                                    {"interleaved_zb1p", "interleaved-zb"},
                                                    {"looped_bfs", "looped-bfs"},
                                                    {"zb_v", "zb-v"},
                                                    {"v_half", "v-half"},
                                                    {"v_min", "v-min"},
                                                    {"v_zb", "v-zb"}};
  std::size_t cases = 0;
  for (const char* file : {"golden_further_schedules.json", "golden_split_schedules.json"}) {
    const json data = schedule::golden_file(file);
    for (const json& golden : data["cases"]) {
      const auto name = names.find(golden["schedule"].get<std::string>());
      if (name == names.end()) continue;
      SCOPED_TRACE(name->second + " " + golden["p"].dump() + "x" + golden["m"].dump());
      const schedule::PipelineShape shape = schedule::shape_of(golden);
      ASSERT_EQ(schedule::why_not(schedule::schedule_named(name->second), shape), std::nullopt);
      const schedule::Program program = build(name->second, shape);
      for (const char* metrics : {"metrics_equal", "metrics_unequal"}) {
        const json& cost = golden[metrics]["cost"];
        const auto time = [&](const char* kind) { return des::Duration{cost[kind].get<std::int64_t>()}; };
        const Replay result = replay(program, split_times(shape.chunks, time("F"), time("I"), time("W"), time("comm")));
        EXPECT_EQ(result.run.makespan.ps, golden[metrics]["makespan"].get<std::int64_t>());
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 27U);
}

// One wave over p micro-batches waits 4 (p - 1) forwards of a chunk, where 1F1B waits 6 (p - 1). Further waves wait a
// smaller share of such a step, in the same memory (arXiv:2308.15762, section 3).
TEST(ScheduleReplay, WavesWaitLessThan1F1B) {
  for (const int p : {2, 4, 6, 8}) {
    const auto makespan = [p](int chunks, int microbatches) {
      const schedule::PipelineShape shape{.stages = p, .microbatches = microbatches, .chunks = chunks};
      return replay(build("hanayo", shape), times(chunks, {1000}, {2000}, {})).run.makespan.ps;
    };
    EXPECT_EQ(makespan(2, p), 1000 * (6 * p + 4 * (p - 1)));
    std::int64_t before = 3000 * (2 * p - 1);  // 1F1B, in forwards of a whole stage
    for (const int waves : {1, 2, 3}) {
      const std::int64_t step = makespan(2 * waves, p) / (2 * waves);
      EXPECT_LT(step, before) << p << " stages, " << waves << " waves";
      before = step;
    }
    for (const int units : {2, 4, 12})
      EXPECT_LT(makespan(2, p * units), 6000 * (p * units + p - 1)) << p << " stages, " << units << " units";
  }
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

// Without a flush a step takes m (t_F + t_B), exactly, where messages are free.
TEST(ScheduleReplay, WithoutAFlushAStepTakesTheWorkOfOneStage) {
  int steps = 0;
  for (const schedule::Schedule& each : schedule::all_schedules())
    for (int p = 2; p <= 8 && each.without_flush; ++p)
      for (int m = 1; m <= 8; ++m) {
        const schedule::PipelineShape shape{.stages = p, .microbatches = m};
        if (why_not(each, shape)) continue;
        EXPECT_EQ(steady_step(schedule::steady_program(each, shape), shape, times(1, ms(10), ms(19), ms(0))),
                  m * ms(29))
            << each.name << p << m;
        EXPECT_GE(steady_step(schedule::steady_program(each, shape), shape, times(1, ms(10), ms(19), ms(1))),
                  m * ms(29))
            << each.name << p << m;
        ++steps;
      }
  EXPECT_EQ(steps, 2 * 7 * 8 + 28);
}

}  // namespace
}  // namespace foretoken::study
