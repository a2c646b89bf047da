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

/// Returns the time of compute alone, in rows of an expert: 1 row of 4 experts takes 80 ns at 100 TFLOP/s.
double computed_rows(std::int64_t rows) {
  NarrowExpertsLaw law = narrow_law(1);
  law.launch = {};
  law.bandwidth = gigabytes_per_second(1e12);
  law.blocks.rows = {8, 16, 32, 48, 64};
  NarrowExperts shape = kFourExperts;
  shape.rows = rows;
  return narrow_experts_time(shape, law).value() / 80e-9;
}

TEST(NarrowExperts, RowsFillWholeBlocks) {
  EXPECT_NEAR(computed_rows(7), 8, 1e-3);
  EXPECT_NEAR(computed_rows(8), 16, 1e-3) << "no tenth of a block of 8 is free";
  EXPECT_NEAR(computed_rows(50), 64, 1e-3);
  EXPECT_NEAR(computed_rows(100), 100 + 32, 1e-3) << "the last block is half full on average";
}

TEST(NarrowExperts, WidthsAreFilledUpToMultiples) {
  NarrowExpertsLaw law = narrow_law(1);
  const double bare = (narrow_experts_time(kFourExperts, law) - law.launch).value();
  law.blocks.outputs = 256;
  law.blocks.inputs = 400;
  EXPECT_NEAR((narrow_experts_time(kFourExperts, law) - law.launch).value() / bare, 1.024 * 1.2, 1e-9);
}

TEST(NarrowExperts, TokensAreSortedByAllExpertsOfTheModel) {
  NarrowExpertsLaw law = narrow_law(1);
  NarrowExperts shape = kFourExperts;
  shape.choices = 128;
  EXPECT_EQ(narrow_experts_time(shape, law), narrow_experts_time(kFourExperts, law));
  law.expert = microseconds(0.5);
  EXPECT_NEAR(narrow_experts_time(shape, law).value() * 1e6, 10 + 2 + 4 + 64, 1e-9);
}

}  // namespace
}  // namespace foretoken::cost
