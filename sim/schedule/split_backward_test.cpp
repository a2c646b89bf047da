// Tests split backward passes and placements other than the loop: validity, counts and golden cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/program_counts.h"
#include "sim/schedule/test_golden_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

TEST(SplitBackward, SchedulesAreValidForEverySmallShape) {
  for (int stages = 1; stages <= 6; ++stages)
    for (int microbatches = 1; microbatches <= 8; ++microbatches) {
      SCOPED_TRACE(testing::Message() << "p " << stages << " m " << microbatches);
      const PipelineShape flat{.stages = stages, .microbatches = microbatches};
      EXPECT_EQ(check_program(split_1f1b(flat), flat), std::vector<std::string>{});
      const PipelineShape folded{.stages = stages, .microbatches = microbatches, .chunks = 2};
      EXPECT_EQ(check_program(split_v(folded), folded), std::vector<std::string>{});
    }
}

TEST(SplitBackward, TheOrderOfZbH1IsTheGoldenOne) {
  int cases = 0;
  const nlohmann::json golden = golden_file("golden_split_schedules.json");
  for (const auto& row : golden.at("cases")) {
    if (row.at("schedule") != "zb_h1") continue;
    EXPECT_EQ(split_1f1b(shape_of(row)), golden_program(row));
    ++cases;
  }
  EXPECT_EQ(cases, 4);
}

TEST(SplitBackward, GoldenSchedulesAreValidAndCountAsStated) {
  int cases = 0;
  const nlohmann::json golden = golden_file("golden_split_schedules.json");
  for (const auto& row : golden.at("cases")) {
    SCOPED_TRACE(row.at("schedule").get<std::string>() + " p " + row.at("p").dump() + " m " + row.at("m").dump());
    const Program program = golden_program(row);
    expect_golden_counts(program, row);
    ++cases;
  }
  EXPECT_EQ(cases, 10);
}

TEST(SplitBackward, PlacementsAreTheGoldenOnes) {
  const nlohmann::json golden = golden_file("golden_split_schedules.json");
  for (const auto& row : golden.at("cases")) {
    const Placement placement = golden_program(row).placement;
    for (const Stage stage : ids<Stage>(placement.stages()))
      for (const Chunk chunk : ids<Chunk>(placement.chunks()))
        EXPECT_EQ(placement.position_of({stage, chunk}), row.at("place").at(stage.index()).at(chunk.index()));
  }
}

Schedule of_fixture(std::string name) {
  if (name == "interleaved_zb1p") name = "interleaved_zb";
  std::replace(name.begin(), name.end(), '_', '-');
  return schedule_named(name);
}

TEST(FurtherSchedules, OrdersStashesAndMessagesAreTheGoldenOnes) {
  int cases = 0;
  for (const char* file : {"golden_further_schedules.json", "golden_split_schedules.json"}) {
    const nlohmann::json golden = golden_file(file);
    for (const auto& row : golden.at("cases")) {
      const std::string name = row.at("schedule");
      SCOPED_TRACE(name + " p " + row.at("p").dump() + " m " + row.at("m").dump());
      const Program program = of_fixture(name).build(shape_of(row));
      expect_golden_counts(program, row);
      EXPECT_EQ(program.stages, golden_program(row).stages);
      ++cases;
    }
  }
  EXPECT_EQ(cases, 30);
}

// Sections 4.3 and 4.8 of the papers: activations of 1F1B are 2p chunks of half a stage.
TEST(FurtherSchedules, AreValidForEverySmallShapeInTheirMemory) {
  int shapes = 0;
  for (const Schedule& each : all_schedules())
    for (int stages = 1; stages <= 7; ++stages)
      for (int microbatches = 1; microbatches <= 15; ++microbatches)
        for (int chunks = 1; chunks <= 4; ++chunks) {
          const PipelineShape shape{.stages = stages, .microbatches = microbatches, .chunks = chunks};
          if (why_not(each, shape)) continue;
          SCOPED_TRACE(each.name + testing::PrintToString(std::vector{stages, microbatches, chunks}));
          const Program program = each.build(shape);
          EXPECT_EQ(check_program(program, shape), std::vector<std::string>{});
          EXPECT_EQ(program.placement, placement_of(each, shape));
          int most = 0;
          for (const StageProgram& ops : program.stages) most = std::max(most, peak_in_flight(ops));
          const std::map<std::string, int> limits = {{"zb-h1", stages},      {"zb-h2", 2 * stages - 1},
                                                     {"zb-v", 2 * stages},   {"v-zb", 2 * stages},
                                                     {"v-half", stages + 2}, {"hanayo", stages * chunks}};
          if (const auto limit = limits.find(each.name); limit != limits.end()) {
            EXPECT_LE(most, limit->second);
          }
          ++shapes;
        }
  EXPECT_GT(shapes, 1000);
}

struct BrokenParts {
  const char* name;
  std::vector<std::string> stages;
  std::vector<std::string> problems;
};

const BrokenParts kBrokenParts[] = {
    {"half a backward pass", {"F0 I0"}, {"stage 0: W0 is missing"}},
    {"the other half", {"F0 W0"}, {"stage 0: I0 is missing"}},
    {"both the whole and a half", {"F0 I0 W0 B0"}, {"stage 0: B0 appears beside one of its parts"}},
    {"weight before input",
     {"F0 W0 I0"},
     {"stage 0: W0 comes before its backward for input I0", "stage 0: I0 finds no activations"}},
    {"input before forward", {"I0 F0 W0"}, {"stage 0: I0 comes before its forward F0"}},
    {"brought back from nowhere", {"F0 L0 B0"}, {"stage 0: L0 comes before its send away E0"}},
    {"activations still away", {"F0 E0 B0 L0"}, {"stage 0: B0 finds no activations"}},
    {"recomputed too late", {"F0 B0 R0"}, {"stage 0: R0 finds no activations"}},
    {"updated too early", {"F0 U0 B0"}, {"stage 0: U0 comes before its backward B0"}},
    {"recomputed twice", {"F0 R0 R0 B0"}, {"stage 0: R0 appears 2 times"}},
    {"all kinds in order", {"F0 E0 L0 R0 I0 W0 U0"}, {}},
};

TEST(SplitBackward, BrokenProgramsAreNamed) {
  for (const auto& [name, stages, problems] : kBrokenParts) {
    SCOPED_TRACE(name);
    EXPECT_EQ(check_program(program_of(Placement::looped(1, 1), stages), {.stages = 1, .microbatches = 1}), problems);
  }
}

TEST(SplitBackward, AStageMayWaitForTheInputPartOfAnother) {
  const PipelineShape shape{.stages = 2, .microbatches = 2};
  const Program good = program_of(Placement::looped(2, 1), {"F0 F1 I0 W0 B1", "F0 B0 F1 I1 W1"});
  EXPECT_EQ(check_program(good, shape), std::vector<std::string>{}) << "a stage may split passes that others do not";
  const Program bad = program_of(Placement::looped(2, 1), {"F0 B0 F1 B1", "F0 F1 I0 I1 W0 W1"});
  EXPECT_EQ(check_program(bad, shape),
            (std::vector<std::string>{"deadlock: stage 0 waits at B0 for I0 of stage 1, which waits at F1",
                                      "deadlock: stage 1 waits at F1 for F1 of stage 0, which waits at B0"}));
}

TEST(SplitBackward, AVPlacementIsNotALoop) {
  const PipelineShape shape{.stages = 2, .microbatches = 1, .chunks = 2};
  const std::vector<std::string> order{"F0.0 F0.1 B0.1 B0.0", "F0.0 F0.1 B0.1 B0.0"};
  EXPECT_EQ(check_program(program_of(Placement::looped(2, 2), order), shape), std::vector<std::string>{});
  EXPECT_EQ(check_program(program_of(Placement::v_shaped(2), order), shape), std::vector<std::string>{});
  EXPECT_EQ(sends_per_stage(program_of(Placement::looped(2, 2), order)), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(sends_per_stage(program_of(Placement::v_shaped(2), order)), (std::vector<std::int64_t>{2, 2}))
      << "chunk 0 of the last stage hands over to chunk 1 of the same stage";
}

TEST(Placement, NamesNeighboursAndEnds) {
  const Placement v = Placement::v_shaped(3);
  EXPECT_TRUE(v.is_first({Stage{0}, Chunk{0}}));
  EXPECT_TRUE(v.is_last({Stage{0}, Chunk{1}})) << "the head stands beside the embedding";
  EXPECT_EQ(*v.neighbour({Stage{2}, Chunk{0}}, Neighbour::kNext), (Place{Stage{2}, Chunk{1}}));
  EXPECT_EQ(v.neighbour_elsewhere({Stage{2}, Chunk{0}}, Neighbour::kNext), nullptr);
  EXPECT_EQ(*v.neighbour({Stage{1}, Chunk{1}}, Neighbour::kNext), (Place{Stage{0}, Chunk{1}}));
  const Placement loop = Placement::looped(3, 2);
  EXPECT_EQ(*loop.neighbour({Stage{2}, Chunk{0}}, Neighbour::kNext), (Place{Stage{0}, Chunk{1}}));
  EXPECT_TRUE(loop.is_looped());
  EXPECT_FALSE(v.is_looped());
}

TEST(SplitBackward, EveryMicroBatchGoesOneWayOfTwo) {
  const PipelineShape shape{.stages = 2, .microbatches = 2, .chunks = 2};
  const Placement two = Placement::two_way(2);
  EXPECT_EQ(check_program(program_of(two, {"F0.0 F1.1 B1.1 B0.0", "F1.1 F0.0 B0.0 B1.1"}), shape),
            std::vector<std::string>{});
  EXPECT_EQ(check_program(program_of(two, {"F0.0 F1.1 B1.1 B0.0", "F1.1 F0.0 B0.0 B1.1 F0.1 B0.1"}), shape).front(),
            "micro-batch 0 takes more than one way");
}

TEST(PlacementDeathTest, APlaceIsTakenOnce) {
  const std::vector<std::vector<Place>> twice{{{Stage{0}, Chunk{0}}, {Stage{0}, Chunk{0}}}};
  EXPECT_DEATH(Placement(1, 1, twice), "every place stands on one way, once");
  EXPECT_DEATH(Placement(4, 1, {{{Stage{0}, Chunk{0}}, {Stage{2}, Chunk{0}}}}), "neighbouring ones");
}

}  // namespace
}  // namespace foretoken::schedule
