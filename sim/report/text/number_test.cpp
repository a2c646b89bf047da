// Tests numbers as people read them, at the limits between digits and units.
#include "sim/report/text/number.h"

#include <gtest/gtest.h>

namespace foretoken::report {
namespace {

struct SignificantCase {
  double value;
  int digits;
  const char* text;
};
constexpr SignificantCase kSignificant[] = {{0, 4, "0"},
                                            {17.9234, 4, "17.92"},
                                            {9.99996, 4, "10.00"},
                                            {175500, 4, "175,500"},
                                            {1234567, 3, "1,230,000"},
                                            {0.012345, 3, "0.0123"},
                                            {-1234.5, 2, "-1,200"},
                                            {999.96, 4, "1,000"}};

TEST(Number, SignificantDigitsAreKept) {
  for (const auto& [value, digits, text] : kSignificant) EXPECT_EQ(significant(value, digits), text) << value;
}

TEST(Number, OneIsNoPlural) {
  EXPECT_EQ(counted(1, "sequence"), "1 sequence");
  EXPECT_EQ(counted(0, "sequence"), "0 sequences");
  EXPECT_EQ(counted(1536, "micro-batch", "micro-batches"), "1,536 micro-batches");
  EXPECT_EQ(counted(1, "micro-batch", "micro-batches"), "1 micro-batch");
}

TEST(Number, PlainDropsZerosBehindThePoint) {
  EXPECT_EQ(plain(312), "312");
  EXPECT_EQ(plain(12.5), "12.5");
  EXPECT_EQ(plain(3600), "3,600");
}

TEST(Number, UnitsFitTheSize) {
  EXPECT_EQ(time_text(Seconds(17.921)), "17.92 s");
  EXPECT_EQ(time_text(Seconds(0.9999999)), "1.000 s");
  EXPECT_EQ(time_text(Seconds(0.312)), "312.0 ms");
  EXPECT_EQ(time_text(Seconds(8.21e-6)), "8.210 us");
  EXPECT_EQ(time_text(Seconds(0)), "0 s");
  EXPECT_EQ(days_text(33.42), "33.4 days");
  EXPECT_EQ(days_text(0.5), "12.0 hours");
  EXPECT_EQ(days_text(730.5), "2.00 years");
  EXPECT_EQ(binary_bytes(Bytes(1024.0 * 1024 * 1024 * 1.5)), "1.50 GiB");
  EXPECT_EQ(decimal_bytes(Bytes(16.9e12)), "16.9 TB");
  EXPECT_EQ(gib(Bytes(1024.0 * 1024 * 1024 * 1234.56)), "1,234.6");
  EXPECT_EQ(percent(0.41234), "41.2 %");
}

TEST(Number, LargeCountsAreWords) {
  EXPECT_EQ(in_words(300e9), "300 billion");
  EXPECT_EQ(in_words(1.008e12), "1.008 trillion");
  EXPECT_EQ(in_words(174.6e9), "174.6 billion");
  EXPECT_EQ(in_words(12500), "12,500");
}

TEST(Number, AChanceIsNeverCertain) {
  EXPECT_EQ(chance(0.126), "13 %");
  EXPECT_EQ(chance(0.9999), "> 99 %");
  EXPECT_EQ(chance(1), "> 99 %");
  EXPECT_EQ(chance(0.004), "< 1 %");
}

}  // namespace
}  // namespace foretoken::report
