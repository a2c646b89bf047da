// Tests Gantt drawings: every pass where there is room, and never too many rectangles.
#include "sim/draw/gantt_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/example_gantt.h"
#include "sim/report/test_count.h"

namespace foretoken::draw {
namespace {

using report::alternating;
using report::count;
using report::Gantt;
using testing::HasSubstr;

TEST(GanttSvg, DrawsEveryPassWhenThereIsRoom) {
  const std::string svg = gantt_svg({alternating(10, 2)});
  EXPECT_EQ(count(svg, "class=\"forward p\""), 20U);
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

TEST(GanttSvg, TitlesAreEscaped) {
  Gantt chart = alternating(1, 1);
  chart.title = "<b> & \"c\"";
  EXPECT_THAT(gantt_svg({chart}), HasSubstr("&lt;b&gt; &amp; &quot;c&quot;"));
}

}  // namespace
}  // namespace foretoken::draw
