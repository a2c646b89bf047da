// Tests the fit of grouped products on made-up layers and on rows in the form of the published tables.
#include "calibration/fit/laws/fit_grouped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "calibration/fit/shipped/fitting.h"
#include "calibration/fit/test_sources.h"
#include "calibration/import/import.h"
#include "sim/base/error.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

cost::Profile profile_with(const cost::GroupedLaw& grouped) {
  const cost::TileWaveLaw single{.peak = teraflops(2250),
                                 .multiprocessors = 148,
                                 .efficiency = 0.7,
                                 .prologue_k = 60,
                                 .small_tile_loss = 0.03,
                                 .memory_bandwidth = gigabytes_per_second(5100),
                                 .launch = microseconds(2)};
  cost::Profile profile{.gemm = {{Precision::kBf16, {.law = single, .grouped = grouped}}}};
  profile.memory_bound = {.bandwidth = gigabytes_per_second(8000), .efficiency = 0.7};
  return profile;
}

const cost::GroupedLaw kTruth{.efficiency = 0.9,
                              .prologue_k = 400,
                              .small_tile_loss = 0.15,
                              .memory_bandwidth = BytesPerSecond(6500e9),
                              .wave_softness = 0.6};

/// The time of the products under the law, 30 us and 2 ns a row, and copies at 3 TB/s.
measured::ExpertSample layer(std::int64_t tokens, std::int64_t hidden, std::int64_t width, std::int64_t experts) {
  measured::ExpertSample s{
      .tokens = tokens, .hidden = hidden, .width = width, .per_token = 8, .experts = experts, .time = {}};
  const auto rows = static_cast<std::int64_t>(std::ceil(s.rows_of_expert()));
  GemmShape shape{.m = rows, .n = 2 * width, .k = hidden, .batch = experts, .kind = BatchKind::kGrouped};
  const cost::Profile profile = profile_with(kTruth);
  s.time = cost::gemm_time(shape, profile);
  shape.n = hidden;
  shape.k = width;
  s.time += cost::gemm_time(shape, profile) + Seconds(30e-6 + 2e-9 * s.rows());
  const double h = static_cast<double>(hidden), f = static_cast<double>(width);
  s.time += Bytes(4 * static_cast<double>(tokens) * h + 4 * s.rows() * h) / gigabytes_per_second(3000);
  s.time += Bytes(6 * s.rows() * f) / gigabytes_per_second(5600);
  return s;
}

std::vector<measured::ExpertSample> made_up_layers() {
  std::vector<measured::ExpertSample> samples;
  for (const std::int64_t tokens : {512, 1024, 1536, 3072, 4096, 8192, 16384})
    for (const std::int64_t hidden : {2048, 4096, 7168})
      for (const std::int64_t width : {256, 768, 2048})
        for (const std::int64_t experts : {32, 128}) samples.push_back(layer(tokens, hidden, width, experts));
  return samples;
}

TEST(FitGrouped, MeetsLayersThatItDidNotSee) {
  const auto found = fit_grouped(made_up_layers(), profile_with(kTruth), "made up");
  ASSERT_TRUE(found.has_value());
  EXPECT_GT(found->evidence.held_out, 15);
  EXPECT_LT(found->evidence.median_error, 0.02);
  EXPECT_NEAR(found->memory_bandwidth.value() / kTruth.memory_bandwidth.value(), 1, 0.1);
  EXPECT_EQ(found->evidence.source, "made up");
}

TEST(FitGrouped, LeavesOutKernelsThatWereNotTuned) {
  std::vector<measured::ExpertSample> samples = made_up_layers();
  const std::size_t sound = samples.size();
  for (const std::int64_t tokens : {64, 128, 256, 512, 4096}) {
    samples.push_back(layer(tokens, 4096, 1024, 256));
    samples.back().time = 5.0 * samples.back().time;
  }
  const auto found = fit_grouped(samples, profile_with(kTruth), "made up");
  ASSERT_TRUE(found.has_value());
  EXPECT_LE(found->evidence.samples + found->evidence.held_out, static_cast<int>(sound));
  EXPECT_LT(found->evidence.worst_error, 0.2);
}

TEST(FitGrouped, NeedsEnoughLayers) {
  EXPECT_EQ(fit_grouped({}, profile_with(kTruth), ""), std::nullopt);
  EXPECT_EQ(fit_grouped({layer(4096, 2048, 768, 128)}, profile_with(kTruth), ""), std::nullopt);
}

TEST(FitGrouped, MeetsAnExcerptOfItsTable) {
  const std::filesystem::path path = kSource / "calibration/fit/testdata/h100_experts.csv";
  const auto samples = measured::parse_experts_csv(measured::text_of(path), path.string());
  const auto profile = shipped_profile("h100-sxm5-80gb");
  const auto found = fit_grouped(samples, *profile, "an excerpt");
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->evidence.median_error, 0.10);
  EXPECT_LT(found->evidence.p90_error, 0.25);
}

TEST(FitGrouped, EveryShippedLawKeepsTheBounds) {
  for (const char* name :
       {"h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm-180gb", "gb200-186gb", "b300-sxm-288gb", "gb300-288gb"}) {
    const auto profile = shipped_profile(name);
    for (const auto& [precision, law] : profile->gemm) {
      ASSERT_TRUE(law.grouped.has_value()) << name << " " << name_of(precision);
      EXPECT_LT(law.grouped->evidence.median_error, 0.10) << name << " " << name_of(precision);
      EXPECT_LT(law.grouped->evidence.p90_error, 0.25) << name << " " << name_of(precision);
    }
  }
}

/// The columns of ai-dynamo/aiconfigurator 095f58a51, systems/data/h100_sxm/moe. The rows are made up.
constexpr std::string_view kHeader = "dtype,tokens,hidden,inter,topk,experts,tp,ep,distribution,time_us,kernel\n";

TEST(ExpertTables, RowsAreOfOneRank) {
  const std::string text = std::string(kHeader) +
                           "bfloat16,1024,2048,768,8,128,2,1,balanced,200.5,moe_torch_flow_cutlass\n"
                           "fp8,1024,2688,1856,6,128,1,1,balanced,300,moe_torch_flow_nongated\n";
  const auto samples = measured::parse_experts_csv(text, "table.csv");
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].width, 384);
  EXPECT_EQ(samples[0].rows_of_expert(), 64);
  EXPECT_TRUE(samples[0].gated);
  EXPECT_DOUBLE_EQ(samples[0].time.value(), 200.5e-6);
  EXPECT_EQ(samples[1].precision, Precision::kFp8);
  EXPECT_FALSE(samples[1].gated);
}

TEST(ExpertTables, WrongRowsAreNamed) {
  const std::string text = std::string(kHeader) +
                           "bfloat16,1024,2048,768,8,128,1,8,balanced,200,moe_torch_flow_cutlass\n"
                           "bfloat16,1024,2048,768,8,128,5,1,balanced,200,moe_torch_flow_cutlass\n";
  try {
    (void)measured::parse_experts_csv(text, "table.csv");
    FAIL() << "expected a complaint";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("table.csv:2: ep: expected 1, the experts of one rank"));
    EXPECT_THAT(error.what(), testing::HasSubstr("table.csv:3: tp: 5 does not divide inter, 768"));
  }
}

}  // namespace
}  // namespace foretoken::fit
