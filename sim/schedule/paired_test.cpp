// Tests pairs of passes and two-way schedules: golden cases, every small shape, and broken pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/program_counts.h"
#include "sim/schedule/test_golden_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

const std::vector<std::string> kSound;

std::string case_title(const nlohmann::json& row) {
  return row.at("schedule").get<std::string>() + " p " + row.at("p").dump() + " m " + row.at("m").dump();
}

TEST(PairedSchedules, OrdersStashesAndMessagesAreTheGoldenOnes) {
  int cases = 0;
  const nlohmann::json golden = golden_file("golden_paired_schedules.json");
  for (const auto& row : golden.at("cases")) {
    SCOPED_TRACE(case_title(row));
    const bool two_way = row.at("schedule") == "dualpipe";
    const Program program = schedule_named(two_way ? "dualpipe" : "dualpipe-v").build(shape_of(row));
    EXPECT_EQ(program.stages, golden_program(row).stages);
    expect_golden_counts(program, row);
    for (const Stage stage : program.stages.ids())
      for (const Chunk chunk : ids<Chunk>(2))
        EXPECT_EQ(program.placement.position_of({stage, chunk}), row.at("place").at(stage.index()).at(chunk.index()));
    ++cases;
  }
  EXPECT_EQ(cases, 5);
}

// The memory of DeepSeek's table (github.com/deepseek-ai/DualPipe, README): p + 1 activations of a whole stage, and for
// a V of p stages 2p + 1 of half a stage.
TEST(PairedSchedules, EveryShapeStashesAsInTheTable) {
  for (int stages = 2; stages <= 12; ++stages)
    for (int microbatches = 2 * stages; microbatches <= 4 * stages + 3; ++microbatches)
      for (const char* name : {"dualpipe", "dualpipe-v"}) {
        const Schedule schedule = schedule_named(name);
        const PipelineShape shape{.stages = stages, .microbatches = microbatches, .chunks = 2};
        if (why_not(schedule, shape)) continue;
        SCOPED_TRACE(testing::Message() << name << " p " << stages << " m " << microbatches);
        const Program program = schedule.build(shape);
        EXPECT_EQ(check_program(program, shape), kSound);
        for (const StageProgram& ops : program.stages)
          EXPECT_EQ(peak_in_flight(ops), schedule.copies == 2 ? stages + 1 : 2 * stages + 1);
      }
}

// Chimera holds p/2 + 1 to p stashes where a backward takes as long as a forward (arXiv:2107.06925, table 2), as far as
// the slots of one unit go. Its units follow each other without more.
TEST(PairedSchedules, ChimeraStashesAtMostOneForEachStage) {
  for (int stages = 2; stages <= 12; stages += 2)
    for (int units = 1; units <= 4; ++units) {
      const PipelineShape shape{.stages = stages, .microbatches = units * stages, .chunks = 2};
      SCOPED_TRACE(testing::Message() << "p " << stages << " units " << units);
      const Program program = schedule_named("chimera").build(shape);
      EXPECT_EQ(check_program(program, shape), kSound);
      for (const Stage stage : ids<Stage>(stages)) {
        const int inner = std::min(stage.number(), stages - 1 - stage.number());
        EXPECT_EQ(peak_in_flight(program.stages[stage]), stages / 2 + 1 + inner);
      }
    }
}

TEST(PairedSchedules, EveryWayHasAsManyMicroBatches) {
  for (const Schedule& schedule : all_schedules()) {
    const PipelineShape shape{.stages = 4, .microbatches = 16, .chunks = schedule.interleaves ? 2 : 1};
    const Placement placement = placement_of(schedule, shape);
    EXPECT_EQ(placement.ways(), schedule.copies) << schedule.name;
    std::vector<int> forwards(static_cast<std::size_t>(placement.ways()), 0);
    const Program program = schedule.build(shape);
    for (const StageOp& op : program.stages[Stage{1}])
      if (unpaired(op.kind) == OpKind::kForward)
        ++forwards[static_cast<std::size_t>(placement.way_of({Stage{1}, op.chunk}))];
    EXPECT_EQ(*std::ranges::min_element(forwards), *std::ranges::max_element(forwards)) << schedule.name;
  }
}

TEST(PairedSchedules, TextsShowPairs) {
  EXPECT_EQ(to_text(ops_of("F0 F1+B0 B1"), 1), "F0 F1+B0 B1");
  EXPECT_EQ(to_text(ops_of("F0.0 F1.1+B0.0"), 2), "F0.0 F1.1+B0.0");
  for (const char* word : {"F1+", "+B0", "F1+F0", "B0+F1", "F1+I0", "F1+B0+B1", "F1 +B0", ""})
    EXPECT_TRUE(parse_word(word).empty()) << word;
}

StageProgram half_pair(OpKind kind) {
  StageProgram ops = ops_of("F0 F1+B0 B1");
  ops[kind == OpKind::kPairedForward ? 1 : 2].kind = unpaired(kind);
  return ops;
}

TEST(PairedSchedules, BrokenPairsAreNamed) {
  const PipelineShape shape{.stages = 1, .microbatches = 2};
  const auto problems = [&](StageProgram ops) {
    Program program{.placement = Placement::looped(1, 1), .stages = {}};
    program.stages.push_back(std::move(ops));
    return check_program(program, shape);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(problems(ops_of("F0 F1+B0 B1")), kSound);
  EXPECT_EQ(problems(half_pair(OpKind::kPairedForward)), Texts{"stage 0: B0 follows no forward of its pair"});
  EXPECT_EQ(problems(half_pair(OpKind::kPairedBackward)), Texts{"stage 0: F1 comes before no backward of its pair"});
  EXPECT_EQ(problems(ops_of("F0 F1+B1 B0")), Texts{"stage 0: B1 is in a pair with its own forward"});
  EXPECT_EQ(problems(ops_of("F0 F0+B0 B1")), (Texts{"stage 0: F0 appears 2 times", "stage 0: F1 is missing"}));
}

// One pass after the other, stage 1 could run F1 and so let stage 0 make B0. As a pair neither starts.
TEST(PairedSchedules, APairWaitsForBothInputs) {
  const PipelineShape shape{.stages = 2, .microbatches = 2};
  const auto problems = [&](const char* first, const char* second) {
    Program program{.placement = Placement::looped(2, 1), .stages = {}};
    for (const char* text : {first, second}) program.stages.push_back(ops_of(text));
    return check_program(program, shape);
  };
  EXPECT_EQ(problems("F0 F1 B0 B1", "F0 F1+B0 B1"), kSound);
  EXPECT_EQ(problems("F0 F1 B0 B1", "F0 B0 F1 B1"), kSound);
  EXPECT_EQ(problems("F0 F1+B0 B1", "F0 F1 B0 B1"),
            (std::vector<std::string>{"deadlock: stage 0 waits at B0 for B0 of stage 1, which waits at F1",
                                      "deadlock: stage 1 waits at F1 for F1 of stage 0, which waits at B0"}));
}

}  // namespace
}  // namespace foretoken::schedule
