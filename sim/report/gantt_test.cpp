// Tests Gantt charts: exact where there is room, and within bounds otherwise.
#include "sim/report/gantt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/report/example_gantt.h"
#include "sim/report/gantt_bins.h"
#include "sim/report/test_count.h"

namespace foretoken::report {
namespace {

using testing::HasSubstr;

TEST(Gantt, SmallChartsAreExactInText) {
  constexpr std::int64_t kMs = 1'000'000'000;
  const auto at = [](Activity activity, int begin, int end) { return bar_of(activity, begin * kMs, end * kMs, 7); };
  Gantt chart{.title = "", .rows = {}, .length = {6 * kMs}};
  chart.rows.push_back({"stage 0", {at(Activity::kForward, 0, 1), at(Activity::kBackward, 2, 4)}, {}});
  chart.rows.push_back({"stage 1", {at(Activity::kStepEnd, 5, 6)}, {at(Activity::kMessage, 0, 1)}});
  const std::string expected =
      "  stage 0  7▄▄▄····7███████········\n"
      "  stage 1  ────················▒▒▒▒\n"
      "           0               6.000 ms\n";
  EXPECT_EQ(gantt_text(chart, chart.length, Paint(false)), expected);
}

TEST(Gantt, DenseTextShowsProportions) {
  const Gantt chart = alternating(1000, 1);
  const std::string text = gantt_text(chart, chart.length, Paint(false));
  const double forward = static_cast<double>(count(text, "▄")), backward = static_cast<double>(count(text, "█"));
  EXPECT_NEAR(forward / (forward + backward), 1.0 / 3, 0.03);
}

TEST(Gantt, TextFitsTheColumnsAndThinsOutStages) {
  const Gantt chart = alternating(50, 200);
  const std::string text = gantt_text(chart, {chart.length.ps * 2}, Paint(false));
  std::istringstream lines(text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) EXPECT_LE(columns_of(line), kPageColumns) << line;
  EXPECT_LE(rows, 36U);
  EXPECT_THAT(text, HasSubstr("stage 199"));
}

TEST(Gantt, CondensedRunsKeepTheirEdges) {
  std::vector<GanttBar> bars;
  for (int i = 0; i < 5; ++i) bars.push_back(bar_of(Activity::kForward, i * 10, i * 10 + 10));  // warm-up to 50
  for (int i = 0; i < 20; ++i) {
    bars.push_back(bar_of(Activity::kBackward, 100 + i * 30, 120 + i * 30));
    bars.push_back(bar_of(Activity::kForward, 120 + i * 30, 130 + i * 30));
  }
  const std::vector<Stretch> runs = condensed(bars, 5);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].begin, 0);
  EXPECT_EQ(runs[0].end, 50);
  EXPECT_EQ(runs[0].share[0], 1);
  EXPECT_EQ(runs[1].begin, 100);
  EXPECT_EQ(runs[1].end, 700);
  EXPECT_NEAR(runs[1].share[1], 2.0 / 3, 1e-12);
}

TEST(GanttLegend, NamesTheKindsOfPassesInTheCharts) {
  Gantt whole, split;
  whole.rows.push_back({"stage 0", {bar_of(Activity::kForward, 0, 1), bar_of(Activity::kBackward, 1, 3)}, {}});
  split.rows.push_back({"stage 0", {bar_of(Activity::kForward, 0, 1), bar_of(Activity::kBackwardInput, 1, 2)}, {}});
  const std::string end = "  ▒ optimizer and step end  ─ communication alone  · idle\n";
  EXPECT_EQ(gantt_legend({&whole, 1}, Paint(false)), "  ▄ forward  █ backward" + end);
  EXPECT_EQ(gantt_legend({&split, 1}, Paint(false)), "  ▄ forward  ▓ backward for input" + end);
  const Gantt both[] = {whole, split};
  EXPECT_THAT(gantt_legend(both, Paint(false)),
              testing::StartsWith("  ▄ forward  █ backward  ▓ backward for input  ▒"));
}

TEST(GanttLegend, BreaksAtTheEdgeOfThePage) {
  Gantt chart;
  GanttRow& row = chart.rows.emplace_back();
  for (const Activity activity : {Activity::kForward, Activity::kBackwardInput, Activity::kBackwardWeight})
    row.work.push_back(bar_of(activity, 0, 1));
  EXPECT_EQ(gantt_legend({&chart, 1}, Paint(false)),
            "  ▄ forward  ▓ backward for input  ▀ backward for weight  ▒ optimizer and step end\n"
            "  ─ communication alone  · idle\n");
}

}  // namespace
}  // namespace foretoken::report
