// Checks memory-bound kernels by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

TEST(MemoryBound, LaunchAndBytesOverTheReachedBandwidth) {
  const Profile profile = example_a100_profile();
  EXPECT_DOUBLE_EQ(memory_bound_time({Bytes(0)}, profile).value(), 2e-6);
  EXPECT_NEAR(memory_bound_time({Bytes(1e9)}, profile).value(), 2e-6 + 1e9 / (0.8 * 2039e9), 1e-15);
}

TEST(MemoryBound, ACorrectionBySizeMultiplies) {
  Profile profile = example_a100_profile();
  const double plain = memory_bound_time({Bytes(1 << 24)}, profile).value();
  profile.memory_bound.correction = {.first_log2 = 20, .last_log2 = 28, .log_ratio = {-0.4, 0}};
  EXPECT_NEAR(memory_bound_time({Bytes(1 << 24)}, profile).value(), plain * std::exp(-0.2), 1e-12);
  EXPECT_NEAR(memory_bound_time({Bytes(1 << 30)}, profile).value(),
              2e-6 + static_cast<double>(1 << 30) / (0.8 * 2039e9), 1e-12);
}

TEST(Quantisation, ReadsTwoBytesAndWritesTheNewWidth) {
  Profile profile = example_a100_profile();
  const QuantisationShape known{.elements = 1e8, .to = Precision::kFp8};
  EXPECT_NEAR(quantisation_time(known, profile).value(), 2e-6 + 3e8 / (0.8 * 2039e9), 1e-12) << "no law of its own";
  const MemoryBoundLaw cast{.bandwidth = gigabytes_per_second(1000), .launch = microseconds(4)};
  const MemoryBoundLaw scan{.bandwidth = gigabytes_per_second(500), .launch = microseconds(6)};
  profile.quantisation = {.cast = cast, .scan = scan};
  EXPECT_NEAR(quantisation_time(known, profile).value(), 4e-6 + 3e8 / 1e12, 1e-12);
  QuantisationShape looked_for = known;
  looked_for.finds_scale = true;
  EXPECT_NEAR(quantisation_time(looked_for, profile).value(), 10e-6 + 3e8 / 1e12 + 2e8 / 5e11, 1e-12);
  const QuantisationShape narrow{.elements = 1e8, .to = Precision::kNvfp4};
  EXPECT_NEAR(quantisation_time(narrow, profile).value(), 4e-6 + 2.5625e8 / 1e12, 1e-12);
}

}  // namespace
}  // namespace foretoken::cost
