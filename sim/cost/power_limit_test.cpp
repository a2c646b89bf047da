// Tests the clock under a power limit.
#include "sim/cost/power_limit.h"

#include <gtest/gtest.h>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

TEST(PowerLimit, IsTheCubeRootOfThePower) {
  EXPECT_EQ(power_limit_factor(400, 400), 1);
  EXPECT_DOUBLE_EQ(power_limit_factor(50, 400), 2);
}

TEST(PowerLimit, SlowsBusyKernelsAlone) {
  Profile profile = example_a100_profile();
  const GemmShape large{.m = 8192, .n = 8192, .k = 8192};
  const MemoryBoundShape copy{Bytes(1e9)};
  const Seconds product = gemm_time(large, profile), copied = memory_bound_time(copy, profile);
  const Seconds launch = std::get<TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).launch;
  slow_clock(profile, 1.25);
  EXPECT_NEAR((gemm_time(large, profile) - launch) / (product - launch), 1.25, 1e-9);
  EXPECT_EQ(memory_bound_time(copy, profile), copied);
}

}  // namespace
}  // namespace foretoken::cost
