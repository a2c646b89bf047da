// Tests that a fit finds the launch and the factor behind a table of products again.
#include "calibration/fit/laws/fit_engine_products.h"

#include <gtest/gtest.h>

#include "calibration/fit/profiles/check_profile.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::fit {
namespace {

cost::EngineProductsLaw law_behind() {
  return {.knots = {{128, microseconds(7), 0.5}, {362, microseconds(5), 0.8}, {1024, microseconds(2), 1.2}}};
}

/// Products in bf16 with the numbers of their class of rows.
measured::Samples products_of(const cost::EngineProductsLaw& law, const cost::Profile& profile) {
  const cost::Profile brief = of_brief_runs(profile);
  measured::Samples samples;
  for (const std::int64_t m : {1, 8, 32, 128, 160, 256, 512, 768, 1024, 2048, 4096})
    for (std::int64_t n = 512; n <= 8192; n += 768)
      for (std::int64_t k = 512; k <= 8192; k += 768) {
        const cost::ProductsOfRows& numbers = law.knots[m <= 128 ? 0 : m < 1024 ? 1 : 2];
        measured::From<measured::GemmSample> sample;
        sample.shape = {.m = m, .n = n, .k = k};
        sample.time.median = numbers.launch + numbers.factor * cost::gemm_time(sample.shape, brief);
        samples.gemms.push_back(sample);
      }
  return samples;
}

TEST(FitEngineProducts, FindsTheNumbersOfEachClassOfRows) {
  const cost::Profile profile = cost::example_a100_profile();
  const auto law = fit_engine_products(products_of(law_behind(), profile), Precision::kBf16, profile);
  ASSERT_TRUE(law);
  ASSERT_EQ(law->knots.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(law->knots[i].rows, law_behind().knots[i].rows);
    EXPECT_NEAR(law->knots[i].factor, law_behind().knots[i].factor, 0.02);
    EXPECT_NEAR(law->knots[i].launch / law_behind().knots[i].launch, 1, 0.1);
  }
  EXPECT_LT(law->evidence.median_error, 0.01);
  EXPECT_GT(law->evidence.held_out, 100);
}

TEST(FitEngineProducts, AProfileThatMeetsTheTableNeedsNone) {
  const cost::Profile profile = cost::example_a100_profile();
  const cost::EngineProductsLaw same{.knots = {{1, {}, 1}, {2, {}, 1}, {3, {}, 1}}};
  EXPECT_FALSE(fit_engine_products(products_of(same, profile), Precision::kBf16, profile));
}

TEST(FitEngineProducts, FewProductsAreNoTable) {
  const cost::Profile profile = cost::example_a100_profile();
  measured::Samples samples = products_of(law_behind(), profile);
  std::erase_if(samples.gemms, [](const auto& sample) { return sample.shape.m >= 1024; });
  EXPECT_FALSE(fit_engine_products(samples, Precision::kBf16, profile));
}

}  // namespace
}  // namespace foretoken::fit
