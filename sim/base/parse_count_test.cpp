// Tests counts with letters.
#include "sim/base/parse_count.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(ParseCount, LettersArePowersOfAThousand) {
  EXPECT_EQ(parse_count("15T"), 15e12);
  EXPECT_EQ(parse_count("300B"), parse_count("300G"));
  EXPECT_EQ(parse_count("1.5M"), 1.5e6);
  EXPECT_EQ(parse_count("4k"), 4000);
  EXPECT_EQ(parse_count("4K"), 4000);
  EXPECT_EQ(parse_count("12"), 12);
}

TEST(ParseCount, AThousandOfASequenceIs1024) {
  EXPECT_EQ(parse_count("4k", kBinaryThousand), 4096);
  EXPECT_EQ(parse_count("1M", kBinaryThousand), 1 << 20);
  EXPECT_EQ(parse_count("4096", kBinaryThousand), 4096);
}

TEST(ParseCount, AnyOtherTextIsNone) {
  for (const char* text : {"", "k", "4kk", "4 k", "-4k", "4m", "1e400", "infB", "4Ki"})
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
}

}  // namespace
}  // namespace foretoken
