// Tests numbers from text: the whole text counts, with its range and its sign.
#include "sim/base/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace foretoken {
namespace {

TEST(ParseNumber, TakesTheWholeText) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  for (const char* text : {"", " ", "x", "42x", "42 ", " 42", "0x2a", "1e3", "4.2", "--1"})
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  for (const char* text : {"", ".", "1.5 ", "1,5", "1.5.", "1.5s", "one"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

TEST(ParseNumber, KeepsItsRange) {
  EXPECT_EQ(parse_number<int>("1", 1, 8), 1);
  EXPECT_EQ(parse_number<int>("8", 1, 8), 8);
  EXPECT_EQ(parse_number<int>("0", 1, 8), std::nullopt);
  EXPECT_EQ(parse_number<int>("9", 1, 8), std::nullopt);
  EXPECT_EQ(parse_number<int>("2147483647"), 2147483647);
  EXPECT_EQ(parse_number<int>("2147483648"), std::nullopt);
  EXPECT_EQ(parse_number<std::int64_t>("2147483648"), 2147483648);
  EXPECT_EQ(parse_number<double>("1e400"), std::nullopt);
  for (const char* text : {"inf", "-inf", "infinity", "nan", "nan(1)"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

TEST(ParseNumber, TakesAMinusSignWhereNegativeNumbersMayStand) {
  EXPECT_EQ(parse_number<int>("-3"), -3);
  EXPECT_EQ(parse_number<int>("-3", -3), -3);
  EXPECT_EQ(parse_number<int>("-3", 0), std::nullopt);
  EXPECT_EQ(parse_number<int>("-0", 0), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-0"), std::nullopt);
  EXPECT_EQ(parse_number<int>("+3"), std::nullopt);
  EXPECT_EQ(parse_number<double>("+3"), std::nullopt);
}

TEST(ParseNumber, PositiveIsAboveZero) {
  EXPECT_EQ(parse_positive("1e-300"), 1e-300);
  EXPECT_EQ(parse_positive("0"), std::nullopt);
  EXPECT_EQ(parse_positive("-1"), std::nullopt);
}

TEST(TakeNumber, LeavesTheRest) {
  std::string_view text = "16.0 GT/s";
  EXPECT_EQ(take_number<double>(text), 16.0);
  EXPECT_EQ(text, " GT/s");
  EXPECT_EQ(take_number<double>(text), std::nullopt);
  EXPECT_EQ(text, " GT/s");
  std::string_view range = "3-8";
  EXPECT_EQ(take_number<int>(range, 4), std::nullopt);
  EXPECT_EQ(range, "3-8");
  EXPECT_EQ(take_number<int>(range, 3), 3);
  EXPECT_EQ(range, "-8");
}

TEST(RoundToDigits, CountsSignificantDigits) {
  EXPECT_EQ(round_to_digits(1234.6, 3), 1230);
  EXPECT_EQ(round_to_digits(-0.00098765, 2), -0.00099);
  EXPECT_EQ(round_to_digits(9.9996, 4), 10);
  EXPECT_EQ(round_to_digits(0, 4), 0);
  EXPECT_EQ(round_to_digits(1.0 / 3, 17), 1.0 / 3);
  EXPECT_TRUE(std::isnan(round_to_digits(NAN, 3)));
  EXPECT_TRUE(std::isinf(round_to_digits(INFINITY, 3)));
}

}  // namespace
}  // namespace foretoken
