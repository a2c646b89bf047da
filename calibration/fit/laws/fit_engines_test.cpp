// Tests the constants of engines: found again from tables that they made, and used by the check of a profile.
#include "calibration/fit/laws/fit_engines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/fit/laws/attention_tables.h"
#include "calibration/fit/laws/test_engine_table.h"
#include "calibration/fit/profiles/check_profile.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::fit {
namespace {

constexpr int kHeadDim = 64;

cost::Profile known_profile() {
  cost::Profile profile = cost::example_a100_profile();
  profile.attention.sustained_factor = 1;
  profile.attention.serving.clear();
  return profile;
}

const cost::AttentionLaw& causal_law(const cost::Profile& profile) {
  return *std::ranges::find_if(profile.attention.laws,
                               [](const auto& law) { return law.head_dim == kHeadDim && law.causal; });
}

/// Returns an engine's table: times under `truth` of kernels with and without windows of 128.
measured::Samples table_of(const char* kernel, const cost::EngineAttention& truth, const cost::Profile& profile,
                           std::int64_t window = 0) {
  const EnginePrediction time(causal_law(profile), truth, profile.attention);
  return engine_table({.kernel = kernel, .head_dim = kHeadDim, .window = window}, time);
}

constexpr cost::CacheWrite kRotates{Seconds(12e-6), BytesPerSecond(3e12), Seconds(0), BytesPerSecond(1e12)};

double median_error(const cost::Profile& profile, const measured::Samples& samples) {
  return check_profile(profile, samples).classes.front().errors.median;
}

TEST(FitEngines, OneLawMeetsTheTablesOfSeveralEngines) {
  cost::Profile profile = known_profile();
  using enum cost::InferenceEngine;
  const cost::EngineAttention vllm{
      .engine = kVllm,
      .cache_write = cost::CacheWrite{Seconds(5e-6), BytesPerSecond(2e12), Seconds(4e-9), BytesPerSecond(0)}};
  const cost::EngineAttention trtllm{.engine = kTensorRtLlm, .kernel_factor = 1.2, .cache_write = kRotates};
  measured::Samples samples = table_of("vllm_flash_attn", vllm, profile);
  const measured::Samples slower = table_of("torch_flow", trtllm, profile);
  EXPECT_GT(median_error(profile, slower), 0.1) << "rotated queries and a kernel of its own";
  samples.append(slower);
  fit_engines(profile.attention, samples);

  const std::vector<cost::EngineAttention>& found = causal_law(profile).engines;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].engine, kTensorRtLlm);
  EXPECT_NEAR(found[1].kernel_factor, 1.2, 0.03);
  EXPECT_NEAR(found[1].cache_write->queries.value(), 1e12, 0.15e12);
  EXPECT_NEAR(found[0].kernel_factor, 1, 0.02) << "the law's own kernel";
  EXPECT_EQ(found[0].cache_write->queries.value(), 0) << "vLLM rotates queries elsewhere";
  EXPECT_GT(found[0].evidence.held_out, 0);
  EXPECT_LT(median_error(profile, samples), 0.01);
}

// A factor cannot follow such a kernel: it is five times slower at 8,192 tokens, and twice at 1,024.
TEST(FitEngines, AKernelUnlikeTheLawsHasARateOfItsOwn) {
  cost::Profile profile = known_profile();
  const cost::AttentionRate slow{.peak = causal_law(profile).forward.peak / 5, .half_length = 100, .tail = 0.7};
  const cost::EngineAttention truth{
      .engine = cost::InferenceEngine::kTensorRtLlm, .forward = slow, .cache_write = kRotates};
  const measured::Samples samples = table_of("torch_flow", truth, profile);
  fit_engines(profile.attention, samples);
  const cost::EngineAttention& found = causal_law(profile).engines.at(0);
  ASSERT_TRUE(found.forward);
  EXPECT_EQ(found.kernel_factor, 1);
  EXPECT_NEAR(found.forward->peak / slow.peak, 1, 0.02);
  EXPECT_LT(median_error(profile, samples), 0.01);
}

TEST(FitEngines, WindowsHaveConstantsOfTheirOwn) {
  cost::Profile profile = known_profile();
  const cost::EngineAttention truth{.engine = cost::InferenceEngine::kSglang,
                                    .windowed = true,
                                    .window_overhang = 300,
                                    .cache_write = cost::CacheWrite{Seconds(3e-6), BytesPerSecond(5e11)}};
  const measured::Samples samples = table_of("fa3", truth, profile, 128);
  EXPECT_GT(median_error(profile, samples), 0.1);
  fit_engines(profile.attention, samples);
  const std::vector<cost::EngineAttention>& found = causal_law(profile).engines;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().windowed);
  EXPECT_LT(median_error(profile, samples), 0.01);
}

TEST(FitEngines, AKernelThatIgnoresItsWindowLooksAtAllKeys) {
  cost::Profile profile = known_profile();
  const cost::EngineAttention truth{.engine = cost::InferenceEngine::kSglang,
                                    .windowed = true,
                                    .window_overhang = 100000,
                                    .cache_write = cost::CacheWrite{Seconds(3e-6), BytesPerSecond(2e12)}};
  const measured::Samples samples = table_of("trtllm_mha", truth, profile, 512);
  fit_engines(profile.attention, samples);
  EXPECT_GT(causal_law(profile).engines.front().window_overhang, 4096);
  EXPECT_LT(median_error(profile, samples), 0.02);
}

TEST(FitEngines, KernelsOfTrainingAreNoEngines) {
  cost::Profile profile = known_profile();
  const cost::EngineAttention any{.cache_write = kRotates};
  for (const char* kernel : {"cudnn", "flash-2", "fused"}) {
    fit_engines(profile.attention, table_of(kernel, any, profile));
    EXPECT_TRUE(causal_law(profile).engines.empty()) << kernel;
  }
}

}  // namespace
}  // namespace foretoken::fit
