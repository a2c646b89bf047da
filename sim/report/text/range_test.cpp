// Tests that ranges have one unit and one number of decimals, and follow the step time.
#include "sim/report/text/range.h"

#include <gtest/gtest.h>

namespace foretoken::report {
namespace {

TEST(Range, BothEndsShareUnitAndDecimals) {
  EXPECT_EQ(time_range({9.87, 11.42}), "9.9-11.4 s");
  EXPECT_EQ(time_range({0.95, 1.051}), "0.95-1.05 s");
  EXPECT_EQ(time_range({0.0871, 0.0999}), "87.1-99.9 ms");
  EXPECT_EQ(days_range({23.14, 26.38}), "23.1-26.4 days");
  EXPECT_EQ(days_range({340, 400}), "0.93-1.10 years");
  EXPECT_EQ(words_range({1'450'000, 1'661'000}), "1.45-1.66 million");
  EXPECT_EQ(words_range({948'000, 1'032'000}), "0.95-1.03 million");
  EXPECT_EQ(in_words3(1'700'000), "1.70 million");
  EXPECT_EQ(in_words3(999'900'000), "1.00 billion");
  EXPECT_EQ(in_words3(79'183.1), "79,200");
  EXPECT_EQ(letters_range({486'000, 576'000}), "486-576k");
  EXPECT_EQ(letters(1'324'000), "1.32M");
  EXPECT_EQ(letters(640), "640");
  EXPECT_EQ(number_range({86.2, 115.3}), "86-115");
  EXPECT_EQ(number_range({604'321, 655'555}), "604,000-656,000");
}

TEST(Range, DaysGrowWithTheStepAndRatesFall) {
  Metrics m;
  m.step_time = Seconds(10);
  EXPECT_FALSE(range_of(m, 24).has_value());
  m.interval = trust::Interval{.level = 0.9, .low = Seconds(8), .high = Seconds(12.5), .words = {}};
  EXPECT_DOUBLE_EQ(range_of(m, 20)->low, 16);
  EXPECT_DOUBLE_EQ(range_of(m, 20)->high, 25);
  EXPECT_DOUBLE_EQ(range_of_rate(m, 20)->low, 16);
  EXPECT_DOUBLE_EQ(range_of_rate(m, 20)->high, 25);
}

}  // namespace
}  // namespace foretoken::report
