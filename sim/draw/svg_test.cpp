// Tests the writer of SVG, ticks of axes, and scatter plots.
#include "sim/draw/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/draw/axis.h"
#include "sim/draw/scatter_svg.h"

namespace foretoken::draw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Svg, AttributesAreWrittenInOrderAndEscaped) {
  EXPECT_EQ(element("rect", {{"class", "a\"b"}, {"x", 70}, {"y", 1.25, 1}}),
            R"(<rect class="a&quot;b" x="70" y="1.2"/>)");
  EXPECT_EQ(element("g", {}, "<b/>"), "<g><b/></g>");
  EXPECT_EQ(opened("svg", {{"width", 5.5}}), R"(<svg width="5.5">)");
}

TEST(Svg, AnAttributeMayBeLeftOut) {
  const Attribute pale("fill-opacity", 0.5, 2);
  EXPECT_EQ(element("rect", {{"x", 1}, pale.where(false)}), R"(<rect x="1"/>)");
  EXPECT_EQ(element("rect", {{"x", 1}, pale.where(true)}), R"(<rect x="1" fill-opacity="0.50"/>)");
}

TEST(Svg, TextAndHintsAreEscaped) {
  EXPECT_EQ(text({{"x", 1}}, "a < b & c"), R"(<text x="1">a &lt; b &amp; c</text>)");
  EXPECT_EQ(with_hint("circle", {{"r", 3}}, "<i>"), R"(<circle r="3"><title>&lt;i&gt;</title></circle>)");
  EXPECT_EQ(with_hint("circle", {{"r", 3}}, ""), R"(<circle r="3"/>)");
  EXPECT_EQ(escaped(std::string("a\tb\nc")), "a b\nc");
}

TEST(Axis, TicksAreRound) {
  EXPECT_THAT(round_ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(round_ticks(3, 3, 5), ElementsAre(3));
  EXPECT_DOUBLE_EQ(round_step(0.21), 0.5);
  EXPECT_DOUBLE_EQ(round_step(6), 10);
  EXPECT_EQ(tick_time(0), "0");
  EXPECT_EQ(tick_time(0.0025), "2.5 ms");
  EXPECT_EQ(tick_time(20), "20 s");
}

TEST(Scatter, PointsLieWhereTheirValuesSay) {
  const ScatterAxis axis{.title = "x", .low = 0.1, .high = 1000, .logarithmic = true, .tick = 1};
  const std::string svg = scatter_svg("t", axis, axis, {{"s", {{0.1, 0.1}, {10, 1000}}}}, {});
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"70.0\" cy=\"560.0\""));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"330.0\" cy=\"40.0\""));
  EXPECT_THAT(svg, HasSubstr(">1000</text>"));
}

TEST(Scatter, ASeriesBehindTheOthersIsDrawnFirst) {
  const ScatterAxis axis{.title = "x", .low = 0, .high = 10, .logarithmic = false, .tick = 1};
  const auto place_of_second = [&](bool behind) {
    const std::string svg = scatter_svg(
        "t", axis, axis,
        {{.name = "a", .points = {{1, 1}}}, {.name = "b", .points = {{10, 10}}, .labels = {}, .behind = behind}}, {});
    return svg.find("<circle cx=\"590.0\" cy=\"40.0\"") < svg.find("<circle cx=\"122.0\"");
  };
  EXPECT_FALSE(place_of_second(false));
  EXPECT_TRUE(place_of_second(true));
}

TEST(Scatter, LongNamesHaveRoomBesideTheSquare) {
  const ScatterAxis axis{.title = "x", .low = 0, .high = 10, .logarithmic = false, .tick = 1};
  const auto drawn = [&](const std::string& name) {
    return scatter_svg("t", axis, axis, {{name, {{1, 1}}}, {"s", {{2, 2}}}}, {});
  };
  EXPECT_THAT(drawn("a"), HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\""));
  const std::string name = "tensor 2 x pipeline 2, 2 instances";  // ends at 590 + 30 + 34 x 6.5
  EXPECT_THAT(drawn(name), HasSubstr("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"841\""));
}

}  // namespace
}  // namespace foretoken::draw
