// Tests that no value of an objective is computed twice.
#include "calibration/fit/numerics/remembered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "calibration/fit/numerics/minimise.h"

namespace foretoken::fit {
namespace {

TEST(Remembered, ComputesEachSetOfConstantsOnce) {
  Remembered values;
  int computed = 0;
  const auto value = [&](double constant) {
    return values({constant, 1}, [&] {
      ++computed;
      return 2 * constant;
    });
  };
  EXPECT_EQ(value(3), 6);
  EXPECT_EQ(value(4), 8);
  EXPECT_EQ(value(3), 6);
  EXPECT_EQ(computed, 2);
  EXPECT_TRUE(std::isnan(value(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(value(4), 8);
  EXPECT_EQ(computed, 3);
}

TEST(Remembered, ASimplexOverRoundedConstantsEndsWhereItDidWithLessWork) {
  int asked = 0, computed = 0;
  const auto law = [](const Arguments& at) {
    return std::vector{std::round(100 * at[0]) / 100, std::round(100 * at[1]) / 100};
  };
  const auto error = [](const std::vector<double>& c) { return std::hypot(c[0] - 1.23, c[1] + 4.56); };
  Remembered errors;
  const Arguments with = minimise(
      [&](const Arguments& at) {
        ++asked;
        return errors(law(at), [&] {
          ++computed;
          return error(law(at));
        });
      },
      {0, 0}, 0.5);
  EXPECT_EQ(with, minimise([&](const Arguments& at) { return error(law(at)); }, {0, 0}, 0.5));
  EXPECT_LT(computed, asked * 3 / 4);
}

}  // namespace
}  // namespace foretoken::fit
