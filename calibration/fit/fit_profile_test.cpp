// A whole profile from measurements whose truth is known: what is fitted, what is lent, and that nothing is left to
// chance.
#include "calibration/fit/fit_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/profile_json.h"
#include "calibration/fit/show_profile.h"
#include "calibration/fit/typical_work.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

using cost::example_a100_profile;
using ::testing::HasSubstr;

measured::Timing timing(Seconds t) { return {t, t, t, 10}; }

/// The example A100, a tenth slower in everything.
Seconds slower(Seconds t) { return 1.1 * t; }

void add_products(measured::Samples& samples, const cost::Profile& truth) {
  for (const GemmPass pass : {GemmPass::kForward, GemmPass::kWeightGradient})
    for (const std::int64_t m : {128, 512, 2048, 8192})
      for (const std::int64_t n : {256, 1024, 4096, 16384})
        for (const std::int64_t k : {256, 1024, 3072, 4096, 16384}) {
          measured::GemmSample sample;
          sample.shape = {.m = m, .n = n, .k = k, .pass = pass};
          sample.adds_to_fp32 = pass == GemmPass::kWeightGradient;
          sample.time = timing(slower(cost::gemm_time(sample.shape, truth)));
          samples.add(sample);
        }
}

void add_kernels(measured::Samples& samples, const cost::Profile& truth) {
  for (double bytes = 1 << 20; bytes <= 1 << 30; bytes *= 2) {
    measured::KernelSample sample;
    sample.kernel = "copy";
    sample.rows = static_cast<std::int64_t>(bytes);
    sample.bytes = Bytes(bytes);
    sample.time = timing(slower(cost::memory_bound_time({sample.bytes}, truth)));
    samples.add(sample);
  }
}

void add_all_reduces(measured::Samples& samples, const cost::Profile& truth) {
  for (double bytes = 1024; bytes <= 4e9; bytes *= 2) {
    measured::CollectiveSample sample;
    sample.bytes = Bytes(bytes);
    sample.group = {.ranks = 8, .nodes = 1, .ranks_per_node = 8};
    sample.time = timing(slower(
        cost::collective_time({CollectiveKind::kAllReduce, sample.bytes, sample.group}, eight_gpu_node(truth), truth)));
    samples.add(sample);
  }
}

void add_attention(measured::Samples& samples, const cost::Profile& truth) {
  for (const bool backward : {false, true})
    for (std::int64_t length = 512; length <= 32768; length *= 2) {
      measured::AttentionSample sample;
      sample.implementation = "cudnn";
      sample.shape = {.batch = 1, .heads = 16, .q_length = length, .kv_length = length, .backward = backward};
      sample.time = timing(slower(cost::attention_time(sample.shape, truth)));
      samples.add(sample);
    }
}

measured::Samples samples_of(const cost::Profile& truth) {
  measured::Samples samples;
  samples.origins.push_back({.source = "run", .gpu = "Example", .facts = {}});
  add_products(samples, truth);
  add_kernels(samples, truth);
  add_all_reduces(samples, truth);
  add_attention(samples, truth);
  return samples;
}

TEST(FitProfile, MeetsWhatWasMeasuredAndSaysSo) {
  const cost::Profile base = example_a100_profile();
  const cost::Profile profile = fit_profile(samples_of(base), {.gpu = "mine", .base = base});
  const GemmShape product{.m = 3000, .n = 5000, .k = 2000};
  GemmShape gradient = product;
  gradient.pass = GemmPass::kWeightGradient;
  EXPECT_NEAR(cost::gemm_time(product, profile) / cost::gemm_time(product, base), 1.1, 0.03);
  EXPECT_NEAR(cost::gemm_time(gradient, profile) / cost::gemm_time(gradient, base), 1.1, 0.03);
  const MemoryBoundShape copy{Bytes(3e8)};
  EXPECT_NEAR(cost::memory_bound_time(copy, profile) / cost::memory_bound_time(copy, base), 1.1, 0.01);
  const CollectiveShape reduce{CollectiveKind::kAllReduce, Bytes(3e7), {.ranks = 8, .nodes = 1, .ranks_per_node = 8}};
  EXPECT_NEAR(cost::collective_time(reduce, eight_gpu_node(base), profile) /
                  cost::collective_time(reduce, eight_gpu_node(base), base),
              1.1, 0.02);
  const AttentionShape attention{.batch = 1, .heads = 16, .q_length = 3000, .kv_length = 3000};
  EXPECT_NEAR(cost::attention_time(attention, profile) / cost::attention_time(attention, base), 1.1, 0.03);
  EXPECT_EQ(profile.gemm.at(Precision::kBf16).evidence.provenance, cost::Provenance::kMeasured);
  EXPECT_EQ(profile.memory_bound.evidence.provenance, cost::Provenance::kMeasured);
  EXPECT_EQ(profile.gemm.at(Precision::kBf16).evidence.source, "run on Example");
}

TEST(FitProfile, WhatWasNotMeasuredIsLentAndCounted) {
  cost::Profile base = example_a100_profile();
  base.gemm.at(Precision::kFp16).evidence.provenance = cost::Provenance::kFitted;
  const cost::Profile profile = fit_profile(samples_of(base), {.gpu = "mine", .base = base});
  EXPECT_EQ(profile.gemm.at(Precision::kFp16).evidence.scaled_from, "a100-sxm4-80gb");
  EXPECT_THAT(cost::scaled_parts(profile), ::testing::ElementsAre(HasSubstr("gemm fp16: scaled from a100-sxm4-80gb")));
  const cost::Profile same = fit_profile(samples_of(base), {.gpu = "a100-sxm4-80gb", .base = base});
  EXPECT_EQ(same.gemm.at(Precision::kFp16).evidence.provenance, cost::Provenance::kFitted);
}

TEST(FitProfile, SameSamplesGiveTheSameBytes) {
  const cost::Profile base = example_a100_profile();
  const FitRequest request{.gpu = "mine", .base = base};
  const std::string text = to_json_text(fit_profile(samples_of(base), request));
  EXPECT_EQ(to_json_text(fit_profile(samples_of(base), request)), text);
}

TEST(FitProfile, PublishedTablesAreFittedNotMeasured) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base);
  for (auto& sample : samples.gemms) sample.time.runs = 0;
  const cost::Profile profile = fit_profile(samples, {.gpu = "mine", .base = base});
  EXPECT_EQ(profile.gemm.at(Precision::kBf16).evidence.provenance, cost::Provenance::kFitted);
}

TEST(FitProfile, TooFewSamplesLeaveTheBase) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base);
  samples.gemms.resize(50);
  samples.kernels.resize(5);
  const cost::Profile profile = fit_profile(samples, {.gpu = "mine", .base = base});
  const GemmShape product{.m = 4096, .n = 4096, .k = 4096};
  EXPECT_EQ(cost::gemm_time(product, profile), cost::gemm_time(product, base));
  EXPECT_EQ(profile.memory_bound.efficiency, base.memory_bound.efficiency);
}

TEST(ShowProfile, EveryPartIsALineWithItsErrors) {
  cost::Profile profile = example_a100_profile();
  profile.memory_bound.evidence = {.provenance = cost::Provenance::kMeasured,
                                   .source = "run",
                                   .samples = 40,
                                   .held_out = 10,
                                   .median_error = 0.012,
                                   .p90_error = 0.03,
                                   .worst_error = 0.2};
  const std::string text = show_profile(profile);
  for (const cost::Part& part : cost::parts_of(profile)) EXPECT_THAT(text, HasSubstr("\n" + part.name));
  EXPECT_THAT(text,
              HasSubstr("memory-bound              measured        40       10     1.2%     3.0%    20.0%  run\n"));
}

TEST(DiffProfiles, RatiosOfTheSameWork) {
  const cost::Profile a = example_a100_profile();
  cost::Profile b = a;
  b.name = "other";
  b.memory_bound.launch = 2 * a.memory_bound.launch;
  b.memory_bound.efficiency = a.memory_bound.efficiency / 2;
  b.gemm.erase(Precision::kBf16);
  const std::string text = diff_profiles(a, b);
  EXPECT_THAT(text, ::testing::ContainsRegex("memory-bound, 256 MB .*2\\.000\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("product fp16 8192 x 8192 x 8192 .*1\\.000\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("product bf16 8192 x 8192 x 8192 .* -        -\n"));
}

TEST(PlotProfiles, DrawsFourCurvesInsideTheirPanels) {
  cost::Profile a = example_a100_profile(), b = a;
  b.name = "a <b> & c";
  const std::string svg = plot_profiles(a, b);
  std::size_t curves = 0;
  for (auto at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  EXPECT_EQ(curves, 4u);
  EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp; c (dashed)"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("nan")));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr(",-")));  // nothing above the frame
}

}  // namespace
}  // namespace foretoken::fit
