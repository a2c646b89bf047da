// Tests grouped products over weights of 4 bits against their formula.
#include "sim/cost/kernels/narrow_experts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::cost {
namespace {

NarrowExpertsLaw narrow_law(double sharpness) {
  return {.launch = microseconds(10),
          .bandwidth = gigabytes_per_second(1000),
          .rate = teraflops(100),
          .sharpness = sharpness};
}

// 4 experts of 1,000 x 1,000 weights are 2 MB: 2 us at 1 TB/s. 50 rows of each are 0.4 GFLOP: 4 us at 100 TFLOP/s.
constexpr NarrowExperts kFourExperts{.experts = 4, .rows = 50, .outputs = 1000, .inputs = 1000, .weight_bytes = 0.5};

TEST(NarrowExperts, TimeIsTheFormula) {
  EXPECT_NEAR(narrow_experts_time(kFourExperts, narrow_law(1)).value() * 1e6, 10 + 2 + 4, 1e-9);
  EXPECT_NEAR(narrow_experts_time(kFourExperts, narrow_law(2)).value() * 1e6, 10 + std::sqrt(20.0), 1e-9);
}

TEST(NarrowExperts, OneRowIsBoundByTheWeightsAndManyByTheOperations) {
  NarrowExperts one = kFourExperts, many = kFourExperts;
  one.rows = 1;
  many.rows = 100'000;
  EXPECT_NEAR(narrow_experts_time(one, narrow_law(100)).value() * 1e6, 10 + 2, 1e-6);
  EXPECT_NEAR(narrow_experts_time(many, narrow_law(100)).value() * 1e6, 10 + 8000, 1e-6);
}

}  // namespace
}  // namespace foretoken::cost
