// Compares lowered pipelines with closed forms, golden start times and published bubble rates.
#include "sim/step/pipeline/lower_pipeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "sim/des/engine.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/test_programs.h"
#include "sim/step/pipeline/test_zero_bubble.h"

namespace foretoken::step {
namespace {

using des::Duration;
using schedule::OpKind;
using schedule::PipelineShape;

struct Replay {
  Workload workload;
  schedule::Program program;
  des::RunResult run;

  // Returns the time from the first forward pass of a stage to the end of its last backward pass, for the longest
  // stage.
  [[nodiscard]] std::int64_t longest_stage_span() const {
    std::int64_t longest = 0;
    for (const auto& passes : workload.passes)
      longest = std::max(longest, run.end[passes.back().last.value].ps - run.start[passes.front().first.value].ps);
    return longest;
  }
};

using Costs = std::map<schedule::OpKind, Duration>;

Replay replay(schedule::Program program, const Costs& costs, Duration comm,
              MessagePolicy policy = MessagePolicy::kLatency) {
  Replay result;
  const int stages = program.placement.stages(), chunks = program.placement.chunks();
  add_stage_streams(result.workload, stages);
  PipelineOptions options{.policy = policy};
  options.messages.to_next = options.messages.to_previous = Table<Stage, Duration>(stages, comm);
  PassDurations durations;
  for (const auto& [kind, cost] : costs)
    durations[kind] = Table<Stage, Table<Chunk, Duration>>(stages, Table<Chunk, Duration>(chunks, cost));
  (void)lower_pipeline(result.workload, program, options, *fixed_passes(durations));
  result.program = std::move(program);
  result.run = des::run(result.workload.graph);
  EXPECT_TRUE(result.run.stuck.empty());
  return result;
}

Replay replay(const char* name, PipelineShape shape, Duration forward, Duration backward, Duration comm,
              MessagePolicy policy = MessagePolicy::kLatency) {
  return replay(schedule::schedule_named(name).build(shape),
                {{OpKind::kForward, forward},
                 {OpKind::kBackward, backward},
                 {OpKind::kBackwardInput, {backward.ps / 2}},
                 {OpKind::kBackwardWeight, {backward.ps / 2}},
                 {OpKind::kPairedForward, forward},
                 {OpKind::kPairedBackward, backward}},
                comm, policy);
}

TEST(LowerPipeline, WithoutCommunicationTheStepIsTheClosedFormToThePicosecond) {
  const Duration f{1'000'003}, b{2'000'017};
  for (const MessagePolicy policy : {MessagePolicy::kLatency, MessagePolicy::kBlocking, MessagePolicy::kOverlapped})
    for (const auto& [p, m, v] : {std::tuple{1, 8, 1},
                                  {4, 8, 1},
                                  {8, 8, 1},
                                  {8, 32, 1},
                                  {64, 512, 1},
                                  {4, 8, 2},
                                  {4, 16, 4},
                                  {8, 24, 3},
                                  {2, 4, 5},
                                  {35, 280, 3}}) {
      SCOPED_TRACE(testing::Message() << "p " << p << " m " << m << " v " << v);
      const PipelineShape shape{.stages = p, .microbatches = m, .chunks = v};
      const std::int64_t closed = (static_cast<std::int64_t>(m) * v + p - 1) * (f.ps + b.ps);
      if (v > 1) {
        EXPECT_EQ(replay("interleaved-1f1b", shape, f, b, {}, policy).run.makespan.ps, closed);
        continue;
      }
      EXPECT_EQ(replay("1f1b", shape, f, b, {}, policy).run.makespan.ps, closed);
      EXPECT_EQ(replay("gpipe", shape, f, b, {}, policy).run.makespan.ps, closed);
    }
}

TEST(LowerPipeline, TheGpuStandsStillBeforeEveryPass) {
  const schedule::Program program = schedule::program_of(schedule::Placement::looped(1, 1), {"F0 F1 B0 B1"});
  Workload workload;
  add_stage_streams(workload, 1);
  PipelineOptions options;
  options.pass_overhead = des::Duration{5};
  const auto one = [](Duration cost) {
    return Table<Stage, Table<Chunk, Duration>>(1, Table<Chunk, Duration>(1, cost));
  };
  const auto emitter = fixed_passes({{OpKind::kForward, one(Duration{10})}, {OpKind::kBackward, one(Duration{20})}});
  (void)lower_pipeline(workload, program, options, *emitter);
  EXPECT_EQ((des::run(workload.graph).makespan - des::Instant{}).ps, 2 * (10 + 20) + 4 * 5);
}

TEST(LowerPipeline, ALatencyThatBlocksNobodyIsExposedAsInTheClosedForms) {
  // docs/modeller/schedules.md: 1F1B pays a round trip for every window of p micro-batches, GPipe and interleaved pay
  // once.
  const Duration f{10'000}, b{20'000}, c{100};
  const PipelineShape flat{.stages = 4, .microbatches = 16};
  EXPECT_EQ(replay("gpipe", flat, f, b, c).run.makespan.ps, 19 * 30'000 + 2 * 3 * 100);
  EXPECT_EQ(replay("1f1b", flat, f, b, c).run.makespan.ps, 19 * 30'000 + 2 * 100 * (3 * 16 / 4 + 4 - 2));
  const PipelineShape chunked{.stages = 4, .microbatches = 16, .chunks = 2};
  EXPECT_EQ(replay("interleaved-1f1b", chunked, f, b, c).run.makespan.ps, 35 * 30'000 + 2 * (4 * 2 - 1) * 100);
}

TEST(LowerPipeline, BlockingMessagesCostAtLeastTheirLatency) {
  const Duration f{10'000}, b{20'000}, c{100};
  for (const int v : {1, 2}) {
    const char* name = v == 1 ? "1f1b" : "interleaved-1f1b";
    const PipelineShape shape{.stages = 4, .microbatches = 16, .chunks = v};
    const auto latency = replay(name, shape, f, b, c).run.makespan;
    const auto overlapped = replay(name, shape, f, b, c, v == 1 ? MessagePolicy::kLatency : MessagePolicy::kOverlapped);
    const auto blocking = replay(name, shape, f, b, c, MessagePolicy::kBlocking).run.makespan;
    EXPECT_GE(overlapped.run.makespan, latency);
    EXPECT_GE(blocking, overlapped.run.makespan);
    EXPECT_LE(blocking.ps, latency.ps + 4LL * 16 * v * 100) << "four messages at most are exposed a micro-batch";
  }
}

TEST(LowerPipeline, NoLegalShapeDeadlocksInAnyStyle) {
  int shapes = 0;
  for (const schedule::Schedule& known : schedule::all_schedules())
    for (int p = 1; p <= 6; ++p)
      for (int m = 1; m <= 13; ++m)
        for (int v = 1; v <= 3; ++v)
          for (int group = 0; group <= (known.interleaves ? m : 0); ++group) {
            const PipelineShape shape{.stages = p, .microbatches = m, .chunks = v, .group = group};
            if (schedule::why_not(known, shape)) continue;
            for (const MessagePolicy policy : {MessagePolicy::kLatency, MessagePolicy::kAsProduced,
                                               MessagePolicy::kBlocking, MessagePolicy::kOverlapped}) {
              const bool as_in_megatron = policy == MessagePolicy::kBlocking || policy == MessagePolicy::kOverlapped;
              if (as_in_megatron && known.posting != schedule::Posting::kAsInMegatron) continue;
              if (policy == MessagePolicy::kOverlapped && !known.interleaves) continue;
              SCOPED_TRACE(testing::Message() << "p " << p << " m " << m << " v " << v << " G " << group);
              (void)replay(known.name.c_str(), shape, {10}, {20}, {1}, policy);
            }
            ++shapes;
          }
  EXPECT_GT(shapes, 300);
}

std::string our_name(const std::string& theirs) {
  if (theirs == "gpipe_lifo") return "gpipe";
  if (theirs == "gpipe_fifo") return "gpipe-fifo";
  return theirs == "interleaved_1f1b" ? "interleaved-1f1b" : theirs;
}

// Compares start times, idle times and makespan with a golden case.
void expect_golden(const Replay& replayed, const nlohmann::json& metrics) {
  EXPECT_EQ(replayed.run.makespan.ps, metrics.at("makespan").get<std::int64_t>());
  for (const Stage stage : replayed.workload.passes.ids()) {
    std::int64_t work = 0;
    std::vector<std::int64_t> starts;
    for (const PassTasks& pass : replayed.workload.passes[stage]) {
      starts.push_back(replayed.run.start[pass.first.value].ps);
      work += replayed.run.end[pass.last.value].ps - starts.back();
    }
    EXPECT_EQ(replayed.run.makespan.ps - work, metrics.at("idle").at(stage.index()).get<std::int64_t>());
    if (metrics.contains("start")) {
      EXPECT_EQ(starts, metrics.at("start").at(stage.index()).get<std::vector<std::int64_t>>());
    }
  }
}

Costs costs_of(const nlohmann::json& cost) {
  const auto of = [&cost](const char* key) { return Duration{cost.at(key).get<std::int64_t>()}; };
  return {
      {OpKind::kForward, of("F")},       {OpKind::kBackward, of("B")},
      {OpKind::kBackwardInput, of("I")}, {OpKind::kBackwardWeight, of("W")},
      {OpKind::kPairedForward, of("F")}, {OpKind::kPairedBackward, cost.contains("X") ? of("X") - of("F") : of("B")}};
}

TEST(LowerPipeline, GoldenStartTimesMakespansAndIdleTimesAreExact) {
  int cases = 0;
  const nlohmann::json file = schedule::golden_file("golden_schedules.json");
  for (const auto& c : file.at("cases")) {
    SCOPED_TRACE(c.at("schedule").get<std::string>() + " p " + c.at("p").dump() + " m " + c.at("m").dump() + " v " +
                 c.at("v").dump());
    for (const char* kind : {"metrics_equal", "metrics_unequal"}) {
      SCOPED_TRACE(kind);
      const auto& cost = c.at(kind).at("cost");
      expect_golden(replay(our_name(c.at("schedule")).c_str(), schedule::shape_of(c), {cost.at("F")}, {cost.at("B")},
                           {cost.at("comm")}),
                    c.at(kind));
    }
    ++cases;
  }
  EXPECT_EQ(cases, 22);
}

TEST(LowerPipeline, SplitAndPlacedGoldenSchedulesAreExact) {
  int cases = 0;
  const nlohmann::json file = schedule::golden_file("golden_split_schedules.json");
  for (const auto& c : file.at("cases")) {
    SCOPED_TRACE(c.at("schedule").get<std::string>() + " p " + c.at("p").dump() + " m " + c.at("m").dump());
    const schedule::Program program = schedule::golden_program(c);
    for (const char* kind : {"metrics_equal", "metrics_unequal"})
      for (const MessagePolicy policy : {MessagePolicy::kLatency, MessagePolicy::kAsProduced}) {
        SCOPED_TRACE(kind);
        const auto& cost = c.at(kind).at("cost");
        expect_golden(replay(program, costs_of(cost), {cost.at("comm")}, policy), c.at(kind));
      }
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

// Both results of a pair may leave on one link. The golden latency does not make the second wait for the first.
TEST(LowerPipeline, GoldenSchedulesWithPairsAreExact) {
  int cases = 0;
  const nlohmann::json file = schedule::golden_file("golden_paired_schedules.json");
  for (const auto& c : file.at("cases")) {
    SCOPED_TRACE(c.at("schedule").get<std::string>() + " p " + c.at("p").dump() + " m " + c.at("m").dump());
    const char* name = c.at("schedule") == "dualpipe" ? "dualpipe" : "dualpipe-v";
    const schedule::Program program = schedule::schedule_named(name).build(schedule::shape_of(c));
    for (const char* kind : {"metrics_equal", "metrics_unequal", "metrics_overlap"}) {
      SCOPED_TRACE(kind);
      const auto& cost = c.at(kind).at("cost");
      expect_golden(replay(program, costs_of(cost), {cost.at("comm")}), c.at(kind));
      if (cost.at("comm") == 0)
        expect_golden(replay(program, costs_of(cost), {}, MessagePolicy::kAsProduced), c.at(kind));
    }
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

// In the golden cases activations move in no time. A stage that waits for its moves takes as much longer, at most.
TEST(LowerPipeline, GoldenTimesOfBPipeAreExactAndMovesAddTheirs) {
  const nlohmann::json file = schedule::golden_file("golden_bpipe.json");
  for (const auto& c : file.at("cases"))
    for (const char* kind : {"metrics_equal", "metrics_unequal"}) {
      SCOPED_TRACE("p " + c.at("p").dump() + " " + kind);
      const schedule::Program program = schedule::schedule_named("bpipe").build(schedule::shape_of(c));
      const auto& cost = c.at(kind).at("cost");
      expect_golden(replay(program, costs_of(cost), {cost.at("comm")}), c.at(kind));
    }
}

TEST(LowerPipeline, APassWaitsUntilActivationsAreGoneOrBack) {
  // One micro-batch away: E0 after F0 (10 to 17), F1 after E0 (17 to 27), L0 beside F1, B0 after L0 and F1.
  const schedule::Program program = schedule::program_of(schedule::Placement::looped(1, 1), {"F0 E0 F1 L0 B0 B1"});
  for (const auto& [move, end] : {std::pair{7, 10 + 7 + 10 + 40}, {12, 10 + 12 + 12 + 40}}) {
    Workload workload;
    add_stage_streams(workload, 1);
    PipelineOptions options;
    options.moves = Table<Stage, Duration>(1, Duration{move});
    options.move_row = [](Stage from) { return bare_message(from, from, Purpose::kMovedActivations); };
    const auto one = [](Duration cost) {
      return Table<Stage, Table<Chunk, Duration>>(1, Table<Chunk, Duration>(1, cost));
    };
    const auto emitter = fixed_passes({{OpKind::kForward, one(Duration{10})}, {OpKind::kBackward, one(Duration{20})}});
    (void)lower_pipeline(workload, program, options, *emitter);
    EXPECT_EQ(des::run(workload.graph).makespan.ps, end) << move;
    EXPECT_EQ(workload.moves[Stage{0}].size(), 2U);
  }
}

// DeepSeek's table (github.com/deepseek-ai/DualPipe, README): a pipeline of p stages waits for
// (p/2 - 1) (F&B + B - 3W), where F&B is a pair. It counts the backward for input as a forward: B = F + W. The middle
// stages wait that long. A V of p stages is half of a DualPipe of 2p.
TEST(LowerPipeline, BubblesOfDualPipeAreThoseOfItsTable) {
  struct Times {
    std::int64_t forward, weight, pair;
  };
  for (const auto& [f, w, pair] : {Times{1, 1, 2}, {1, 1, 3}, {10, 8, 28}, {10, 8, 20}, {10, 9, 25}, {7, 7, 14}})
    for (const auto& [name, stages, half] : {std::tuple{"dualpipe", 2, 1},
                                             {"dualpipe", 4, 2},
                                             {"dualpipe", 8, 4},
                                             {"dualpipe", 16, 8},
                                             {"dualpipe-v", 4, 4},
                                             {"dualpipe-v", 8, 8}}) {
      SCOPED_TRACE(testing::Message() << name << " p " << stages << " F " << f << " W " << w << " pair " << pair);
      const PipelineShape shape{.stages = stages, .microbatches = 2 * stages + 6, .chunks = 2};
      const Replay replayed = replay(schedule::schedule_named(name).build(shape),
                                     {{OpKind::kForward, {f}},
                                      {OpKind::kBackward, {f + w}},
                                      {OpKind::kBackwardInput, {f}},
                                      {OpKind::kBackwardWeight, {w}},
                                      {OpKind::kPairedForward, {1}},
                                      {OpKind::kPairedBackward, {pair - 1}}},
                                     {});
      std::int64_t work = 0;
      for (const PassTasks& pass : replayed.workload.passes[id_of<Stage>(half - 1)])
        work += (replayed.run.end[pass.last.value] - replayed.run.start[pass.first.value]).ps;
      EXPECT_EQ(replayed.run.makespan.ps - work, (half - 1) * (pair + (f + w) - 3 * w));
    }
}

TEST(LowerPipeline, ASplitBackwardPassShortensTheBubbleAsInTheZeroBubblePaper) {
  // arXiv:2401.10241 table 1: ZB-H1 leaves (p - 1) (F + I - W), 1F1B leaves (p - 1) (F + I + W).
  const Duration f{1'000}, i{1'000}, w{1'000};
  for (const auto& [p, m] : {std::pair{1, 4}, {2, 2}, {2, 9}, {4, 4}, {4, 13}, {8, 24}}) {
    SCOPED_TRACE(testing::Message() << "p " << p << " m " << m);
    const Replay replayed = replay(schedule::split_1f1b({.stages = p, .microbatches = m}),
                                   {{OpKind::kForward, f}, {OpKind::kBackwardInput, i}, {OpKind::kBackwardWeight, w}},
                                   {}, MessagePolicy::kAsProduced);
    EXPECT_EQ(replayed.run.makespan.ps, m * (f + i + w).ps + (p - 1) * (f.ps + i.ps - w.ps));
  }
}

TEST(LowerPipeline, SplitSchedulesRunAtEverySmallShape) {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 7; ++m)
      for (const MessagePolicy policy : {MessagePolicy::kLatency, MessagePolicy::kAsProduced}) {
        SCOPED_TRACE(testing::Message() << "p " << p << " m " << m);
        const Costs costs{{OpKind::kForward, {10}}, {OpKind::kBackwardInput, {12}}, {OpKind::kBackwardWeight, {7}}};
        (void)replay(schedule::split_1f1b({.stages = p, .microbatches = m}), costs, {3}, policy);
        (void)replay(schedule::split_v({.stages = p, .microbatches = m, .chunks = 2}), costs, {3}, policy);
      }
}

TEST(LowerPipeline, BubbleOfTheStepEqualsTheZeroBubblePaper) {
  for (const ZeroBubbleRow& row : kZeroBubble) {
    SCOPED_TRACE(testing::Message() << row.stages << " stages, " << row.microbatches << " micro-batches");
    const auto ms = [](double t) { return des::to_duration(Seconds(t * 1e-3)); };
    const Replay replayed = replay("1f1b", {.stages = row.stages, .microbatches = row.microbatches}, ms(row.forward),
                                   ms(row.backward()), ms(row.message));
    const double span = static_cast<double>(replayed.longest_stage_span());
    const double work = row.microbatches * static_cast<double>((ms(row.forward) + ms(row.backward())).ps);
    EXPECT_NEAR((span - work) / span, row.bubble, 0.00005001);
  }
}

}  // namespace
}  // namespace foretoken::step
