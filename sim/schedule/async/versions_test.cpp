// Tests the weights of schedules without a flush against golden cases and the formulas of their papers.
#include "sim/schedule/async/versions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/op_text.h"
#include "sim/schedule/test_golden_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

TEST(WeightVersions, AreThoseOfTheGoldenCases) {
  const nlohmann::json golden = golden_file("golden_async_schedules.json");
  int cases = 0;
  for (const auto& row : golden.at("cases")) {
    const std::string name = row.at("schedule");
    SCOPED_TRACE(name);
    const Schedule schedule = schedule_named(name == "pipedream_stash" ? "pipedream" : "pipedream-2bw");
    const PipelineShape all = shape_of(row);
    PipelineShape step = all;
    if (!row.at("batch").is_null()) step.microbatches = row.at("batch");
    const Program program = schedule.build(all);
    EXPECT_EQ(program.stages, golden_program(row).stages);
    expect_golden_counts(program, row);
    const WeightVersions versions = weight_versions(program, *schedule.without_flush, step);
    EXPECT_EQ(versions.used.values(), row.at("weight_version").get<std::vector<std::vector<int>>>());
    EXPECT_EQ(versions.kept.values(), row.at("num_versions").get<std::vector<int>>());
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

// PipeDream: p - r versions, and a gradient meets weights p - 1 - r updates older. 2BW: two versions, one update.
// PipeMare: one version; a forward pass is followed by 2 (p - 1 - r) + 1 passes of other micro-batches before its own
// backward pass, p - 1 - r of them backwards, so that its weights are at most ceil((p - 1 - r) / m) updates old.
TEST(WeightVersions, FollowTheFormulasOfTheirPapers) {
  for (int p = 2; p <= 8; ++p)
    for (int m = 1; m <= 8; ++m) {
      SCOPED_TRACE(testing::PrintToString(std::vector{p, m}));
      const PipelineShape shape{.stages = p, .microbatches = m};
      const auto of = [&](const char* name) {
        const Schedule schedule = schedule_named(name);
        return weight_versions(steady_program(schedule, shape), *schedule.without_flush, shape);
      };
      const WeightVersions stashed = of("pipedream"), newest = of("pipemare");
      for (const Stage stage : stashed.kept.ids()) {
        const int behind = p - 1 - stage.number();
        EXPECT_EQ(stashed.kept[stage], behind + 1);
        EXPECT_EQ(stashed.staleness[stage], behind);
        EXPECT_EQ(newest.kept[stage], 1);
        EXPECT_EQ(newest.staleness[stage], (behind + m - 1) / m);
      }
      ASSERT_EQ(why_not(schedule_named("pipedream-2bw"), shape).has_value(), m < p);
      if (m < p) continue;
      const WeightVersions doubled = of("pipedream-2bw");
      for (const Stage stage : doubled.kept.ids()) {
        EXPECT_EQ(doubled.kept[stage], 2);
        EXPECT_EQ(doubled.staleness[stage], 1);
      }
    }
}

TEST(WeightVersions, UpdatesComeBeforeTheFirstPassThatNeedsThem) {
  const auto text = [](const char* name, int p, int m, int steps) {
    const PipelineShape shape{.stages = p, .microbatches = m};
    const Schedule schedule = schedule_named(name);
    PipelineShape all = shape;
    all.microbatches *= steps;
    std::vector<std::string> stages;
    for (const StageProgram& ops : with_updates(schedule.build(all), *schedule.without_flush, shape).stages)
      stages.push_back(to_text(ops, 1));
    return stages;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(text("pipedream", 2, 3, 1), (Texts{"F0 F1 B0 U0 F2 B1 B2 U1 U2", "F0 B0 U0 F1 B1 U1 F2 B2 U2"}));
  EXPECT_EQ(text("pipedream-2bw", 2, 2, 3),
            (Texts{"F0 F1 B0 F2 B1 F3 B2 U1 F4 B3 F5 B4 B5 U3 U5", "F0 B0 F1 B1 F2 B2 F3 B3 U1 F4 B4 F5 B5 U3 U5"}));
  EXPECT_EQ(text("pipemare", 2, 2, 2), (Texts{"F0 F1 B0 F2 B1 U1 F3 B2 B3 U3", "F0 B0 F1 B1 U1 F2 B2 F3 B3 U3"}));
}

}  // namespace
}  // namespace foretoken::schedule
