// Tests that a fit finds the law behind a table of layers of experts again, and how the table is read.
#include "calibration/fit/laws/fit_expert_layer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/profiles/check_profile.h"
#include "calibration/import/import.h"
#include "sim/base/error.h"
#include "sim/cost/example_profile.h"

namespace foretoken::fit {
namespace {

constexpr BytesPerSecond kDatasheet = gigabytes_per_second(4000);
constexpr FlopPerSecond kPeak = teraflops(1000);

cost::ExpertLayerLaw known_law() {
  return {.launch = microseconds(25),
          .expert = microseconds(0.1),
          .row = Seconds(4e-12),
          .token = Seconds(1e-12),
          .bandwidth = gigabytes_per_second(3500),
          .rate = teraflops(900),
          .sharpness = 2};
}

/// Layers of 16 to 256 experts and of 1 to 16,384 tokens, with the times of the law.
std::vector<measured::ExpertSample> layers_of(const cost::ExpertLayerLaw& law) {
  std::vector<measured::ExpertSample> samples;
  for (const std::int64_t experts : {16, 64, 256})
    for (const std::int64_t width : {512, 1024, 2048})
      for (const std::int64_t hidden : {2048, 4096, 7168})
        for (std::int64_t tokens = 1; tokens <= 16'384; tokens *= 4) {
          measured::ExpertSample s{.tokens = tokens, .hidden = hidden, .width = width, .per_token = 8};
          s.experts = experts;
          s.time = cost::expert_layer_time(expert_layer_of(s), law);
          samples.push_back(s);
        }
  return samples;
}

TEST(FitExpertLayer, FindsTheLawBehindATable) {
  const auto samples = layers_of(known_law());
  const auto law = fit_expert_layer(samples, kDatasheet, kPeak);
  ASSERT_TRUE(law);
  EXPECT_LT(law->evidence.median_error, 0.01);
  EXPECT_NEAR(law->bandwidth / known_law().bandwidth, 1, 0.05);
  EXPECT_NEAR(law->rate / known_law().rate, 1, 0.05);
  EXPECT_GT(law->evidence.held_out, 20);
}

TEST(FitExpertLayer, RatesAreAtMostThoseOfTheDatasheet) {
  const auto law = fit_expert_layer(layers_of(known_law()), gigabytes_per_second(2000), teraflops(500));
  ASSERT_TRUE(law);
  EXPECT_LE(law->rate, teraflops(500));
  EXPECT_LE(law->bandwidth, gigabytes_per_second(2000));
}

TEST(FitExpertLayer, FewRowsHaveNoLaw) {
  EXPECT_FALSE(fit_expert_layer({layers_of(known_law()).front()}, kDatasheet, kPeak));
}

TEST(FitExpertLayer, RanksShareExpertsAndRows) {
  measured::ExpertSample s{.tokens = 64, .hidden = 4096, .width = 1536, .per_token = 8};
  s.experts = 128;
  s.ranks = 8;
  const cost::ExpertLayer layer = expert_layer_of(s);
  EXPECT_EQ(layer.experts, 16);
  EXPECT_EQ(layer.met, 16);
  EXPECT_EQ(layer.rows, 4) << "64 x 8 / 8 rows over 16 experts";
  EXPECT_EQ(layer.tokens, 64) << "of all ranks";
  s.tokens = 1;
  EXPECT_EQ(expert_layer_of(s).met, 1);
}

constexpr const char* kTable =
    "dtype,tokens,hidden,inter,topk,experts,tp,ep,distribution,time_us,kernel\n"
    "bfloat16,64,4096,1536,8,128,1,8,balanced,100,triton_experts\n"
    "bfloat16,64,4096,1536,8,128,1,8,power_law_1.2,140,triton_experts\n"
    "bfloat16,64,4096,1536,8,128,1,8,balanced,90,other_experts\n";

TEST(CheckProfile, LayersOfExpertsAreThoseOfTheLawsKernel) {
  const measured::Samples samples = measured::import_csv(kTable, "moe.csv");
  ASSERT_EQ(samples.experts.size(), 3);
  EXPECT_EQ(samples.experts.front().ranks, 8);
  cost::ServingLaws serving;
  cost::ExpertLayerLaw law = known_law();
  law.evidence.source = "a table, triton_experts";
  serving.experts["vllm"][Precision::kBf16].spread = law;
  const ProfileCheck check = check_profile(cost::example_a100_profile(), samples, &serving);
  ASSERT_EQ(check.classes.size(), 1);
  EXPECT_EQ(check.classes.front().kind, "experts bf16 by triton_experts");
  EXPECT_EQ(check.classes.front().errors.rows, 1);
  EXPECT_EQ(check.left_out.size(), 2) << "another kernel, and popular experts";
}

TEST(ExpertsCsv, LayersWithoutGatesAreKnownByTheirSizes) {
  constexpr const char* kNemotron =
      "dtype,tokens,hidden,inter,topk,experts,tp,ep,time_us,kernel\n"
      "bfloat16,64,2688,1856,6,128,1,1,100,triton_experts\n"
      "bfloat16,64,2688,1856,8,128,1,1,100,triton_experts\n";
  const auto samples = measured::import_csv(kNemotron, "moe.csv").experts;
  ASSERT_EQ(samples.size(), 2);
  EXPECT_FALSE(samples[0].gated);
  EXPECT_TRUE(samples[1].gated);
  EXPECT_DOUBLE_EQ(expert_layer_of(samples[0]).weights, 2.0 * 2688 * 1856);
}

}  // namespace
}  // namespace foretoken::fit
