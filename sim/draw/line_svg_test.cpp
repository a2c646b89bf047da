// Tests line charts of extreme values: they end, and every coordinate is a number.
#include "sim/draw/line_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

namespace foretoken::draw {
namespace {

LineChart chart_of(double first, double second) {
  return {.title = "Cost",
          .x_title = "GPUs",
          .curves = {{.style = "s1", .points = {{.x = 8, .y = first}, {.x = 16, .y = second}}}},
          .logarithmic_y = true,
          .y_label = [](double value) { return std::to_string(value); }};
}

TEST(LineSvg, ValuesAtTheEndsOfDoublesHaveTicksAndCoordinates) {
  constexpr double kTiny = std::numeric_limits<double>::denorm_min();
  for (const auto& [low, high] :
       {std::pair(kTiny, kTiny), std::pair(kTiny, 1e300), std::pair(1e-290, 1e10), std::pair(1e300, 1e300)}) {
    SCOPED_TRACE(testing::Message() << low << " to " << high);
    const LineChart chart = chart_of(low, high);
    EXPECT_LE(axes_of(chart).y.ticks.size(), 700U);
    EXPECT_THAT(line_svg(chart), testing::Not(testing::HasSubstr("nan")));
  }
}

TEST(LineSvg, ACostOfZeroHasALinearAxis) {
  for (const double second : {0.0, 5.0}) {
    const LineChart chart = chart_of(0, second);
    EXPECT_FALSE(axes_of(chart).y.is_logarithmic);
    EXPECT_THAT(line_svg(chart), testing::Not(testing::ContainsRegex("nan|inf")));
  }
  EXPECT_TRUE(axes_of(chart_of(1, 5)).y.is_logarithmic);
}

}  // namespace
}  // namespace foretoken::draw
