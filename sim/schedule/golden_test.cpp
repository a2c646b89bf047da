// Compares the schedules with golden orders, stashes and message counts, and with recorded runs of Megatron-Core.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/op_text.h"
#include "sim/schedule/program_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

/// Returns our schedule for a name of the fixtures.
Schedule schedule_called(const std::string& fixture_name) {
  static const std::map<std::string, std::string> kNames = {{"gpipe_lifo", "gpipe"},
                                                            {"gpipe_fifo", "gpipe-fifo"},
                                                            {"1f1b", "1f1b"},
                                                            {"interleaved_1f1b", "interleaved-1f1b"},
                                                            {"interleaved", "interleaved-1f1b"}};
  return find_schedule(kNames.at(fixture_name)).value();
}

std::string title_of(const nlohmann::json& row) {
  std::string title;
  for (const char* key : {"schedule", "p", "m", "v", "group"}) {
    if (row.contains(key)) title += std::string(key) + "=" + row[key].dump() + " ";
  }
  return title;
}

class Golden : public testing::Test {
 protected:
  const nlohmann::json cases_ = golden_file("golden_schedules.json")["cases"];
};

TEST_F(Golden, HoldsEveryCaseOfOurSchedules) {
  std::map<std::string, int> cases_of;
  for (const auto& row : cases_) ++cases_of[row["schedule"]];
  const std::map<std::string, int> expected = {
      {"1f1b", 5}, {"gpipe_fifo", 4}, {"gpipe_lifo", 4}, {"interleaved_1f1b", 9}};
  EXPECT_EQ(cases_of, expected);
}

TEST_F(Golden, OrdersAreExact) {
  for (const auto& row : cases_) {
    SCOPED_TRACE(title_of(row));
    const PipelineShape shape = shape_of(row);
    const Program program = schedule_called(row["schedule"]).build(shape);
    ASSERT_EQ(program.stages.size(), row["orders"].size());
    for (const Stage stage : program.stages.ids()) {
      std::vector<std::string> order;
      for (const StageOp& op : program.stages[stage]) order.push_back(to_text(op, shape.chunks));
      EXPECT_EQ(order, row["orders"][stage.index()].get<std::vector<std::string>>()) << "stage " << stage.number();
    }
  }
}

TEST_F(Golden, OrdersReadBackToTheSameProgram) {
  for (const auto& row : cases_) {
    SCOPED_TRACE(title_of(row));
    const Program built = schedule_called(row["schedule"]).build(shape_of(row));
    Table<Stage, StageProgram> stages;
    for (const auto& order : row["orders"]) {
      StageProgram& ops = stages.emplace_back();
      for (const std::string text : order) ops.push_back(parse_op(text).value());
    }
    EXPECT_EQ(stages, built.stages);
    EXPECT_EQ(check_program(built, shape_of(row)), std::vector<std::string>{});
  }
}

TEST_F(Golden, PeakStashAndMessagesAreExact) {
  for (const auto& row : cases_) {
    SCOPED_TRACE(title_of(row));
    const Program program = schedule_called(row["schedule"]).build(shape_of(row));
    std::vector<int> peaks;
    for (const StageProgram& ops : program.stages) peaks.push_back(peak_in_flight(ops));
    for (const char* metrics : {"metrics_equal", "metrics_unequal"}) {
      EXPECT_EQ(peaks, row[metrics]["peak_stash"].get<std::vector<int>>());
      EXPECT_EQ(sends_per_stage(program), row[metrics]["p2p_sends"].get<std::vector<std::int64_t>>());
    }
  }
}

TEST(MegatronCallSequences, ComputeOrderIsExactOnEveryRankOfEveryRun) {
  const auto runs = golden_file("megatron_call_sequences.json")["runs"];
  ASSERT_EQ(runs.size(), 8U);
  for (const auto& run : runs) {
    SCOPED_TRACE(title_of(run));
    const PipelineShape shape = shape_of(run);
    const Schedule schedule = schedule_called(run["schedule"]);
    ASSERT_EQ(why_not(schedule, shape), std::nullopt);
    const Program program = schedule.build(shape);
    ASSERT_EQ(program.stages.size(), run["compute"].size());
    for (const Stage stage : program.stages.ids()) {
      EXPECT_EQ(to_text(program.stages[stage], shape.chunks), run["compute"][stage.index()].get<std::string>())
          << "stage " << stage.number();
    }
  }
}

}  // namespace
}  // namespace foretoken::schedule
