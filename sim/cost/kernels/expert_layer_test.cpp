// Tests layers of experts against their formula, and whose laws stand in.
#include "sim/cost/kernels/expert_layer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::cost {
namespace {

ExpertLayerLaw layer_law(double sharpness) {
  return {.launch = microseconds(10),
          .expert = microseconds(0.5),
          .row = Seconds(10e-12),
          .token = Seconds(2e-12),
          .bandwidth = gigabytes_per_second(1000),
          .rate = teraflops(100),
          .sharpness = sharpness};
}

// 4 experts with 1,000,000 weights of a byte are 4 MB: 4 us at 1 TB/s. 50 rows of each are 0.4 GFLOP: 4 us at 100
// TFLOP/s. 200 rows of 1,000 numbers at 10 ps are 2 us, 100 tokens at 2 ps 0.2 us. 8 experts are sorted: 4 us.
constexpr ExpertLayer kFourMet{
    .tokens = 100, .experts = 8, .met = 4, .rows = 50, .hidden = 1000, .weights = 1e6, .weight_bytes = 1};

TEST(ExpertLayer, TimeIsTheFormula) {
  EXPECT_NEAR(expert_layer_time(kFourMet, layer_law(1)).value() * 1e6, 10 + 4 + 2 + 0.2 + 4 + 4, 1e-9);
  EXPECT_NEAR(expert_layer_time(kFourMet, layer_law(2)).value() * 1e6, 10 + 4 + 2 + 0.2 + std::sqrt(32.0), 1e-9);
}

TEST(ExpertLayer, FewRowsAreBoundByTheWeightsAndManyByTheOperations) {
  ExpertLayer few = kFourMet, many = kFourMet;
  few.rows = 1;
  many.rows = 100'000;
  const ExpertLayerLaw law = layer_law(100);
  const double beside_few = 10 + 4 + 4 * 1000 * 10e-6 + 0.2;
  EXPECT_NEAR(expert_layer_time(few, law).value() * 1e6, beside_few + 4, 1e-6);
  const double beside_many = 10 + 4 + 4e5 * 1000 * 10e-6 + 0.2;
  EXPECT_NEAR(expert_layer_time(many, law).value() * 1e6, beside_many + 8000, 1e-6);
}

TEST(ExpertLayer, SpreadExpertsHaveTheirOwnLaw) {
  ExpertLayerLaws laws{.one_rank = layer_law(1)};
  EXPECT_EQ(laws.of(1), &*laws.one_rank);
  EXPECT_EQ(laws.of(8), &*laws.one_rank) << "the only one";
  laws.spread = layer_law(2);
  EXPECT_EQ(laws.of(8), &*laws.spread);
  EXPECT_EQ(ExpertLayerLaws{}.of(1), nullptr);
}

TEST(ExpertLayer, AnotherEngineStandsIn) {
  EngineExperts all;
  all["trt-llm"][Precision::kFp8].one_rank = layer_law(1);
  all["vllm"][Precision::kBf16].one_rank = layer_law(1);
  EXPECT_EQ(experts_or_stand_in("trt-llm", Precision::kFp8, all).engine, "trt-llm");
  EXPECT_EQ(experts_or_stand_in("trt-llm", Precision::kBf16, all).engine, "vllm");
  EXPECT_EQ(experts_or_stand_in("sglang", Precision::kFp8, all).engine, "trt-llm");
  EXPECT_EQ(experts_or_stand_in("vllm", Precision::kNvfp4, all).laws, nullptr);
}

}  // namespace
}  // namespace foretoken::cost
