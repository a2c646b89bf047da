// Tests that covered time counts every instant once.
#include "sim/base/intervals.h"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(Coverage, LaterKindsCountOnlyWhatIsLeft) {
  Coverage coverage;
  EXPECT_EQ(coverage.add({{10, 20}, {0, 5}}), 15);
  EXPECT_EQ(coverage.add({{3, 12}, {18, 25}, {19, 24}}), 10) << "5..10 and 20..25";
  EXPECT_EQ(coverage.add({{0, 25}}), 0);
  EXPECT_EQ(coverage.add({{30, 30}, {40, 39}}), 0) << "empty intervals cover nothing";
  EXPECT_EQ(coverage.covered(), 25);
}

}  // namespace
}  // namespace foretoken
