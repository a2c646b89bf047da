// Checks memory-bound kernels by hand.
#include <gtest/gtest.h>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

TEST(MemoryBound, LaunchAndBytesOverTheReachedBandwidth) {
  const Profile profile = example_a100_profile();
  EXPECT_DOUBLE_EQ(memory_bound_time({Bytes(0)}, profile).value(), 2e-6);
  EXPECT_NEAR(memory_bound_time({Bytes(1e9)}, profile).value(), 2e-6 + 1e9 / (0.8 * 2039e9), 1e-15);
}

}  // namespace
}  // namespace foretoken::cost
