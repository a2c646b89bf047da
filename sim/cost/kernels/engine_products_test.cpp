// Tests of products by an engine's kernels.
#include "sim/cost/kernels/engine_products.h"

#include <gtest/gtest.h>

namespace foretoken::cost {
namespace {

const EngineProductsLaw kLaw{.knots = {{100, microseconds(8), 0.5}, {1000, microseconds(2), 1.5}}};

TEST(EngineProducts, NumbersAreConstantBeyondTheKnotsAndLinearInLogarithmsBetween) {
  EXPECT_DOUBLE_EQ(products_of_rows(1, kLaw).factor, 0.5);
  EXPECT_DOUBLE_EQ(products_of_rows(100, kLaw).launch.value(), 8e-6);
  EXPECT_NEAR(products_of_rows(316, kLaw).factor, 1, 1e-3) << "the root of ten of a step";
  EXPECT_NEAR(products_of_rows(316, kLaw).launch.value(), 5e-6, 1e-8);
  EXPECT_DOUBLE_EQ(products_of_rows(1 << 20, kLaw).factor, 1.5);
}

TEST(EngineProducts, TimeIsALaunchAndAMultipleOfTheProfiles) {
  EXPECT_DOUBLE_EQ(engine_product_time(microseconds(10), 1, kLaw).value(), 13e-6);
  EXPECT_DOUBLE_EQ(engine_product_time(microseconds(10), 5000, kLaw).value(), 17e-6);
}

}  // namespace
}  // namespace foretoken::cost
