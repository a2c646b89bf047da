// Tests PyTorch's CSV format: round trips, published files, and the place of every mistake.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/csv/broken_csv.h"
#include "sim/schedule/csv/own_schedule.h"
#include "sim/schedule/csv/write_csv.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string published(const std::string& name) {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/sim/schedule/testdata/pytorch/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

ImportedSchedule imported(const std::string& text) {
  auto read = read_csv(text);
  if (const CsvFault* const fault = std::get_if<CsvFault>(&read)) {
    ADD_FAILURE() << fault->row << ':' << fault->column << ": " << fault->message;
    return {};
  }
  return *std::get_if<ImportedSchedule>(&read);
}

// Returns the actions of a CSV without idle cells.
std::string without_idle_cells(const std::string& text) {
  std::string actions;
  for (const char letter : text) {
    const bool empty = actions.empty() || actions.back() == ',' || actions.back() == '\n';
    if (letter == ',' && empty) continue;
    actions += letter;
  }
  return actions;
}

TEST(ScheduleCsv, EveryScheduleOfTheCatalogueComesBack) {
  int programs = 0;
  std::vector<Schedule> schedules(all_schedules().begin(), all_schedules().end());
  schedules.push_back(split_1f1b_schedule());
  schedules.push_back(split_v_schedule());
  for (const Schedule& schedule : schedules)
    for (const int stages : {1, 2, 3, 4, 6})
      for (const int microbatches : {1, 2, 5, 8, 12})
        for (const int chunks : {1, 2, 3}) {
          const PipelineShape shape{.stages = stages, .microbatches = microbatches, .chunks = chunks};
          if (why_not(schedule, shape) || (schedule.name == "split-v" && chunks != 2)) continue;
          SCOPED_TRACE(fmt::format("{} p {} m {} v {}", schedule.name, stages, microbatches, chunks));
          const Program program = schedule.build(shape);
          if (why_no_csv(program)) continue;
          const ImportedSchedule again = imported(to_csv(program));
          EXPECT_EQ(again.program.stages, program.stages);
          EXPECT_EQ(again.program.placement, program.placement);
          EXPECT_EQ(again.shape.microbatches, microbatches);
          ++programs;
        }
  EXPECT_GT(programs, 100);
}

TEST(ScheduleCsv, PublishedFilesAreValidPrograms) {
  struct Case {
    const char* file;
    PipelineShape shape;
    const char* remark;
  };
  for (const auto& [file, shape, remark] :
       {Case{"zb1p_2rank_2stagep_comms.csv",
             {2, 8, 2},
             "letters of 2024: B is the backward pass for the input, W for "
             "the weights, BW the whole one"},
        Case{"zb1p_2rank_2stagep_compute.csv", {2, 8, 2}, "2 idle cells: ignored: a pass starts once its input exists"},
        Case{"torchtitan_example.csv", {2, 4, 2}, "6 UNSHARD and RESHARD: checked, then ignored"},
        Case{"dualpipev_4rank_10mb.csv", {4, 10, 2}, "4 rows became 4 stages with 2 chunks each, in V placement"}}) {
    SCOPED_TRACE(file);
    const ImportedSchedule schedule = imported(published(file));
    EXPECT_EQ(schedule.shape.stages, shape.stages);
    EXPECT_EQ(schedule.shape.microbatches, shape.microbatches);
    EXPECT_EQ(schedule.shape.chunks, shape.chunks);
    EXPECT_THAT(schedule.remarks, Contains(HasSubstr(remark)));
    EXPECT_THAT(check_program(schedule.program, schedule.shape), testing::IsEmpty());
    EXPECT_EQ(imported(to_csv(schedule.program)).program, schedule.program);
  }
}

TEST(ScheduleCsv, AFileOfPassesIsWrittenAsItWasRead) {
  const std::string text = published("zb1p_2rank_2stagep_compute.csv");
  EXPECT_EQ(to_csv(imported(text).program), without_idle_cells(text));
}

// Both files are of PyTorch's zero-bubble schedule for one shape. One has whole backward passes on its first rank.
TEST(ScheduleCsv, LettersOf2024MeanTheSamePasses) {
  const Program older = imported(published("zb1p_2rank_2stagep_comms.csv")).program;
  const Program newer = imported(published("zb1p_2rank_2stagep_compute.csv")).program;
  EXPECT_EQ(older.stages[Stage{1}], newer.stages[Stage{1}]);
  EXPECT_EQ(older.placement, newer.placement);
  EXPECT_EQ(to_text(older.stages[Stage{0}][0], 2), "F0.0");
  EXPECT_THAT(to_text(older.stages[Stage{0}], 2), HasSubstr("B0.1"));
}

TEST(ScheduleCsv, APairOfACellRunsAsOne) {
  const std::string text = "0F0,0F1,(0B0;0F2)OVERLAP_F_B,0B1,0B2\n";
  const Program program = imported(text).program;
  EXPECT_EQ(to_text(program.stages[Stage{0}], 1), "F0 F1 F2+B0 B1 B2");
  EXPECT_EQ(to_csv(program), "0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n");
  EXPECT_TRUE(own_schedule("pairs.csv", imported(text)).pairs_passes);
}

// PyTorch's own file of DualPipeV, and the schedule of the catalogue.
TEST(ScheduleCsv, PyTorchsDualPipeVIsTheOneOfTheCatalogue) {
  const ImportedSchedule dual = imported(published("dualpipev_4rank_10mb.csv"));
  EXPECT_EQ(dual.program.stages, schedule_named("dualpipe-v").build(dual.shape).stages);
  EXPECT_THAT(dual.remarks, Contains(HasSubstr("41 OVERLAP_F_B: both passes run as a pair")));
}

// A pair would wait for its own forward, or for a stage that waits for it. The file's two passes do not.
TEST(ScheduleCsv, PassesOfACellThatNeedEachOtherFollowEachOther) {
  for (const char* text : {"0F0,(0F1;0B1)OVERLAP_F_B,0B0\n", "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n"}) {
    const ImportedSchedule read = imported(text);
    EXPECT_THAT(to_text(read.program.stages[Stage{0}], 1), testing::StartsWith("F0 F1 B"));
    EXPECT_THAT(read.remarks, Contains(HasSubstr("1 OVERLAP_F_B: one pass after the other")));
  }
}

// A part of a backward pass makes no pair.
TEST(ScheduleCsv, APartOfABackwardPassFollowsItsForward) {
  EXPECT_EQ(to_text(imported("0F0,(0F1;0I0)OVERLAP_F_B,0W0,0B1\n").program.stages[Stage{0}], 1), "F0 F1 I0 W0 B1");
}

TEST(ScheduleCsv, PlacementFollowsFromTheRows) {
  const auto placement_of = [](const std::string& text) { return imported(text).program.placement; };
  const std::string looped = "0F0,2F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", v = "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n";
  EXPECT_EQ(placement_of(looped), Placement::looped(2, 2));
  EXPECT_EQ(placement_of(v), Placement::v_shaped(2));
  const std::string adjacent = "0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n";  // two neighbours on each rank
  EXPECT_EQ(placement_of(adjacent).position_of({Stage{1}, Chunk{0}}), 2);
  EXPECT_EQ(placement_of("1F0,1B0\n0F0,0B0\n").position_of({Stage{0}, Chunk{0}}), 1);
}

TEST(ScheduleCsv, SpreadsheetsMayAddQuotesBlanksAndCarriageReturns) {
  const Program plain = imported("0F0,,0B0\n1F0,1B0\n").program;
  EXPECT_EQ(imported("\xef\xbb\xbf\"0F0\", ,\"0B0\"\r\n 1F0 ,1B0,,\r\n\r\n").program, plain);
}

TEST(ScheduleCsv, EveryMistakeHasItsRowAndColumn) {
  std::set<std::string> complaints;
  for (const BrokenCsv& broken : kBrokenCsvs) {
    SCOPED_TRACE(broken.what);
    const auto read = read_csv(broken.text);
    const CsvFault* const fault = std::get_if<CsvFault>(&read);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fmt::format("{}:{}", fault->row, fault->column), fmt::format("{}:{}", broken.row, broken.column));
    EXPECT_THAT(fault->message, HasSubstr(broken.complaint));
    EXPECT_THAT(fault->message, testing::MatchesRegex("expected [^\n]*found [^\n]*; try [^\n]*"));
    complaints.insert(fault->message);
  }
  EXPECT_GE(std::size(kBrokenCsvs), 50U);
  EXPECT_GE(complaints.size(), 45U) << "mistakes have words of their own";
}

// Every row of a published file loses one action, or has two swapped. Each result is refused, or is another valid
// program.
TEST(ScheduleCsv, DamagedFilesAreRefusedOrValid) {
  const Program program = imported(published("zb1p_2rank_2stagep_compute.csv")).program;
  const PipelineShape shape{.stages = 2, .microbatches = 8, .chunks = 2};
  for (const Stage stage : program.stages.ids())
    for (std::size_t at = 0; at + 1 < program.stages[stage].size(); ++at) {
      Program swapped = program, shorter = program;
      std::swap(swapped.stages[stage][at], swapped.stages[stage][at + 1]);
      shorter.stages[stage].erase(shorter.stages[stage].begin() + static_cast<std::ptrdiff_t>(at));
      EXPECT_EQ(std::holds_alternative<ImportedSchedule>(read_csv(to_csv(swapped))),
                check_program(swapped, shape).empty())
          << to_csv(swapped);
      EXPECT_TRUE(std::holds_alternative<CsvFault>(read_csv(to_csv(shorter))));
    }
}

TEST(ScheduleCsv, OtherProgramsHaveNoCsv) {
  const Program two_way = program_of(Placement::two_way(2), {"F0.0 B0.0", "F0.0 B0.0"});
  EXPECT_THAT(why_no_csv(two_way).value(), HasSubstr("found 2; try a schedule with one copy"));
  const Program moved = program_of(Placement::looped(1, 1), {"F0 E0 L0 B0"});
  EXPECT_THAT(why_no_csv(moved).value(), HasSubstr("has no word for send away"));
  const Program turned =
      program_of(Placement(1, 2, {{{Stage{0}, Chunk{1}}, {Stage{0}, Chunk{0}}}}), {"F0.1 F0.0 B0.0 B0.1"});
  EXPECT_THAT(why_no_csv(turned).value(), HasSubstr("in the order of the model"));
}

TEST(OwnSchedule, BuildsTheFileAndNothingElse) {
  const Schedule own = own_schedule("zb.csv", imported(published("zb1p_2rank_2stagep_compute.csv")));
  const PipelineShape right{.stages = 2, .microbatches = 8, .chunks = 2};
  EXPECT_FALSE(why_not(own, right));
  EXPECT_EQ(own.build(right), imported(published("zb1p_2rank_2stagep_compute.csv")).program);
  EXPECT_TRUE(own.interleaves);
  EXPECT_TRUE(own.splits_backward);
  EXPECT_FALSE(own.place) << "looped";
  EXPECT_THAT(
      why_not(own, {.stages = 4, .microbatches = 8, .chunks = 2}).value(),
      HasSubstr("zb.csv: expected 2 pipeline stages, one a row of the file, found 4; try parallelism.pipeline 2"));
  EXPECT_THAT(why_not(own, {.stages = 2, .microbatches = 8, .chunks = 3}).value(),
              HasSubstr("expected 2 chunks a stage"));
  EXPECT_THAT(why_not(own, {.stages = 2, .microbatches = 9, .chunks = 2}).value(),
              HasSubstr("expected 8 micro-batches, as in the file, found 9"));
  EXPECT_THAT(why_not(own, {.stages = 2, .microbatches = 8, .chunks = 2, .group = 4}).value(),
              HasSubstr("expected no micro-batch group"));
}

TEST(OwnSchedule, PlacesStagesAsTheFileDoes) {
  const Schedule own = own_schedule("dual.csv", imported(published("dualpipev_4rank_10mb.csv")));
  EXPECT_EQ(placement_of(own, {.stages = 4, .microbatches = 10, .chunks = 2}), Placement::v_shaped(4));
  EXPECT_EQ(placement_of(own, {.stages = 3, .microbatches = 10, .chunks = 1}), Placement::looped(3, 1));
}

}  // namespace
}  // namespace foretoken::schedule
