// Tests complaints: the number that is stored, and the length of their lines.
#include "sim/base/error.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Complaints, AHundredStayAndTheRestIsCounted) {
  Complaints complaints;
  EXPECT_TRUE(complaints.empty());
  for (std::size_t i = 0; i < Complaints::kMost; ++i) complaints.push_back({"f", "", std::to_string(i)});
  EXPECT_TRUE(complaints.is_full());
  EXPECT_EQ(complaints.listed().size(), Complaints::kMost) << "none is missing yet";
  for (int i = 0; i < 12; ++i) complaints.push_back({"g", "", "one more"});
  EXPECT_EQ(complaints.size(), Complaints::kMost + 12);
  EXPECT_EQ(complaints.listed().size(), Complaints::kMost + 1);
  EXPECT_EQ(complaints.listed().back().line(), "f: and 12 more complaints");
  EXPECT_EQ(complaints.front().line(), "f: 0");
}

TEST(Complaints, OfADeepPlaceStillSayWhatIsWrong) {
  std::string pointer;
  for (int i = 0; i < 64; ++i) pointer += '/' + std::string(60, static_cast<char>('a' + i % 26));
  const std::string line = Complaint{"f", pointer, "expected a number"}.line();
  EXPECT_LT(line.size(), 400U);
  EXPECT_TRUE(line.ends_with(": expected a number")) << line;
  EXPECT_EQ((Complaint{"f", "/a/b", "no"}.line()), "f: /a/b: no");
}

TEST(Complaints, OfAFileWithALongNameStillSayWhatIsWrong) {
  const std::string line = Complaint{std::string(3000, 'x') + ".json", "", "no such file"}.line();
  EXPECT_LT(line.size(), 400U);
  EXPECT_TRUE(line.ends_with("x.json: no such file")) << line;
}

}  // namespace
}  // namespace foretoken
