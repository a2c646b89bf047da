// Tests Gantt drawings: every pass where there is room, and never too many rectangles.
#include "sim/draw/gantt_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/draw/gantt_keys.h"
#include "sim/report/example_gantt.h"
#include "sim/report/test_count.h"

namespace foretoken::draw {
namespace {

using report::Activity;
using report::alternating;
using report::bar_of;
using report::count;
using report::Gantt;
using report::GanttBar;
using report::GanttRow;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(GanttSvg, DrawsEveryPassWhenThereIsRoom) {
  const std::string svg = gantt_svg({alternating(10, 2)});
  EXPECT_EQ(count(svg, "class=\"c-forward p\""), 20U);
  EXPECT_THAT(svg, HasSubstr(">9</text>"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
}

TEST(GanttSvg, StaysWithinItsRectangles) {
  for (const int stages : {1, 8, 64, 512}) {
    const std::string svg = gantt_svg({alternating(2000, stages), alternating(700, stages)});
    EXPECT_LE(count(svg, "<rect"), kMostRectangles) << stages;
    EXPECT_THAT(svg, HasSubstr("heights are shares of time"));
  }
}

// Two chunks of equal passes on one stage.
Gantt of_two_chunks(int pairs) {
  Gantt chart{.title = "", .rows = {}, .length = {pairs * 2}, .chunks = 2};
  GanttRow& row = chart.rows.emplace_back();
  row.label = "stage 0";
  for (int m = 0; m < pairs; ++m)
    for (const Chunk chunk : ids<Chunk>(2)) {
      const int begin = 2 * m + chunk.number();
      row.work.push_back(bar_of(Activity::kForward, begin, begin + 1, m));
      row.work.back().chunk = chunk;
    }
  return chart;
}

TEST(GanttSvg, ChunksAreOpaqueShadesAndInTheLegend) {
  const std::string svg = gantt_svg({of_two_chunks(10)});
  EXPECT_THAT(svg, Not(HasSubstr("fill-opacity"))) << "hatching must not shine through a pass";
  EXPECT_EQ(count(svg, "class=\"c-forward p\""), 10U);
  EXPECT_EQ(count(svg, "class=\"c-forward-7 p\""), 10U);
  EXPECT_EQ(count(svg, "<rect class=\"c-forward\""), 1U) << "in the legend";
  EXPECT_EQ(count(svg, "<rect class=\"c-forward-7\""), 1U) << "in the legend";
  EXPECT_THAT(svg, HasSubstr(">forward, chunk 0 to 1</text>"));
}

TEST(GanttSvg, PassesHaveBordersOrAreShares) {
  const int fit = static_cast<int>(1108 / kLeastPassPixels / 2);  // pairs of passes on the axis
  const std::string drawn = gantt_svg({of_two_chunks(fit)}), dense = gantt_svg({of_two_chunks(fit + 1)});
  EXPECT_EQ(count(drawn, " p\""), 2U * static_cast<unsigned>(fit));
  EXPECT_THAT(drawn, AllOf(HasSubstr(".p{stroke:var(--panel);stroke-width:.7}"), Not(HasSubstr("shares of time"))));
  EXPECT_EQ(count(dense, " p\""), 0U);
  EXPECT_THAT(dense, HasSubstr("Passes narrower than 4 pixels: heights are shares of time"));
}

TEST(GanttSvg, ANarrowPassBesideWideOnesIsDrawnByItself) {
  Gantt chart = of_two_chunks(2);
  chart.length = {2000};
  for (GanttBar& bar : chart.rows[0].work) bar = bar_of(Activity::kForward, bar.begin.ps * 500, bar.end.ps * 500, 1);
  chart.rows[0].work[1] = bar_of(Activity::kBackward, 500, 501, 1);
  const std::string svg = gantt_svg({chart});
  EXPECT_EQ(count(svg, "class=\"c-forward p\""), 3U);
  EXPECT_EQ(count(svg, "<rect class=\"c-backward\""), 2U) << "the pass, and its square in the legend";
}

TEST(GanttSvg, ALongLegendBreaks) {
  Gantt chart = of_two_chunks(4);
  for (const Activity more : {Activity::kBackward, Activity::kBackwardInput, Activity::kBackwardWeight})
    chart.rows[0].work.push_back(bar_of(more, 8, 9));
  const std::string svg = gantt_svg({chart});
  EXPECT_EQ(count(svg, "y=\"17.0\""), 5U) << "entries in the first line";
  EXPECT_GE(count(svg, "y=\"39.0\""), 1U) << "and in the second";
}

TEST(GanttSvg, TitlesAreEscaped) {
  Gantt chart = alternating(1, 1);
  chart.title = "<b> & \"c\"";
  EXPECT_THAT(gantt_svg({chart}), HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
}

}  // namespace
}  // namespace foretoken::draw
