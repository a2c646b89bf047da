// Tests the limits of traces.
#include "sim/io/serve/read_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken::io {
namespace {

using testing::HasSubstr;

TEST(ReadServingTrace, MoreRequestsThanARunTakesAreRefusedWhereTheyBegin) {
  constexpr std::string_view kRow = "0,1,1\n";
  std::string text;
  for (std::int64_t row = 0; row <= serve::kMostRequests; ++row) text += kRow;
  Findings findings;
  EXPECT_EQ(std::ssize(read_trace(text, "t.csv", findings)), serve::kMostRequests);
  ASSERT_EQ(findings.complaints.size(), 1U);
  EXPECT_THAT(findings.complaints.front().line(),
              HasSubstr("t.csv: line 5000001: expected at most 5 million requests"));
}

}  // namespace
}  // namespace foretoken::io
