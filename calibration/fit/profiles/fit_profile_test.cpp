// Fits a whole profile on measurements with a known truth: fitted parts, parts of the base, and no dependence on order.
#include "calibration/fit/profiles/fit_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/profiles/diff_profiles.h"
#include "calibration/fit/profiles/layer_time.h"
#include "calibration/fit/profiles/typical_work.h"
#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/parts.h"
#include "sim/io/hardware/profile.h"

namespace foretoken::fit {
namespace {

using cost::example_a100_profile;
using ::testing::HasSubstr;

measured::Timing timing(Seconds t) { return {t, t, t, 10}; }

/// Returns the time of a machine that is a tenth slower in everything than the example A100.
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
      sample.implementation = "flash-2";  // slower, and no sample of the fastest kernel
      sample.shape.kernel = FlashKernel::kFlash2;
      sample.time = timing(3.0 * sample.time.median);
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

TEST(FitProfile, MeetsItsMeasurementsAndStatesThem) {
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
  EXPECT_THAT(profile.gemm.at(Precision::kBf16).evidence.source,
              ::testing::StartsWith("run on Example; of 12 held out with m, n, k >= 1024: median "));
}

TEST(FitProfile, UnmeasuredPartsComeFromTheBaseAndAreCounted) {
  cost::Profile base = example_a100_profile();
  for (auto& law : base.attention.laws) law.evidence.provenance = cost::Provenance::kFitted;
  measured::Samples samples = samples_of(base);
  samples.attention.clear();
  const cost::Profile profile = fit_profile(samples, {.gpu = "mine", .base = base});
  EXPECT_EQ(profile.attention.laws.front().evidence.scaled_from, "a100-sxm4-80gb");
  ASSERT_EQ(cost::scaled_parts(profile).size(), 1u);
  EXPECT_EQ(cost::scaled_parts(profile).front().name, "attention");
  const cost::Profile same = fit_profile(samples, {.gpu = "a100-sxm4-80gb", .base = base});
  EXPECT_EQ(same.attention.laws.front().evidence.provenance, cost::Provenance::kFitted);
}

TEST(FitProfile, SixteenBitTypesShareTheirProducts) {
  const cost::Profile base = example_a100_profile();
  const cost::Profile profile = fit_profile(samples_of(base), {.gpu = "mine", .base = base});
  const GemmShape bf16{.m = 3000, .n = 5000, .k = 2000};
  GemmShape fp16 = bf16;
  fp16.precision = Precision::kFp16;
  EXPECT_EQ(cost::gemm_time(bf16, profile), cost::gemm_time(fp16, profile));
  EXPECT_THAT(profile.gemm.at(Precision::kFp16).evidence.source, HasSubstr("products in bf16"));
}

net::Gpu datasheet(double tflops, int multiprocessors, double memory) {
  net::Gpu gpu;
  gpu.name = "a GPU";
  gpu.architecture = "ampere";
  gpu.streaming_multiprocessors = multiprocessors;
  gpu.peak[Precision::kFp16] = gpu.peak[Precision::kBf16] = teraflops(tflops);
  gpu.memory_bandwidth = gigabytes_per_second(memory);
  return gpu;
}

TEST(FitProfile, PartsOfTheBaseAreScaledByDatasheets) {
  const cost::Profile base = example_a100_profile();
  const cost::Profile profile = fit_profile({}, {.gpu = "mine",
                                                 .datasheet = datasheet(624, 108, 4078),
                                                 .base = base,
                                                 .base_datasheet = datasheet(312, 108, 2039)});
  const auto& law = std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kBf16).law);
  const auto& before = std::get<cost::TileWaveLaw>(base.gemm.at(Precision::kBf16).law);
  EXPECT_NEAR(law.peak / before.peak, 2, 1e-3);
  EXPECT_NEAR(law.memory_bandwidth / before.memory_bandwidth, 2, 1e-3);
  EXPECT_NEAR(profile.attention.laws[0].forward.peak / base.attention.laws[0].forward.peak, 2, 1e-3);
  EXPECT_DOUBLE_EQ(profile.memory_bound.bandwidth.value(), 4078e9);
}

TEST(FitProfile, ProductsFasterThanTheDatasheetAreRefused) {
  const cost::Profile base = example_a100_profile();
  EXPECT_THROW(
      (void)fit_profile(samples_of(base), {.gpu = "mine", .datasheet = datasheet(100, 108, 2039), .base = base}),
      ConfigError);
}

TEST(FitProfile, OrderOfSamplesDoesNotMatter) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base), other = samples;
  std::reverse(other.gemms.begin(), other.gemms.end());
  std::reverse(other.kernels.begin(), other.kernels.end());
  std::reverse(other.collectives.begin(), other.collectives.end());
  std::reverse(other.attention.begin(), other.attention.end());
  const FitRequest request{.gpu = "mine", .base = base};
  EXPECT_EQ(io::to_json_text(fit_profile(samples, request)), io::to_json_text(fit_profile(other, request)));
}

TEST(FitProfile, ALongRunSaysHowMuchSlowerABusyGpuIs) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base);
  measured::GemmSample brief;
  brief.shape = {.m = 8192, .n = 8192, .k = 8192};
  brief.time = timing(Seconds(brief.shape.flop().value() / 250e12));
  samples.add(brief);
  for (int i = 1; i <= 50; ++i) {  // falls from 250 to 200 TFLOP/s in the first second of five
    measured::ClockSample instant;
    instant.work = "bf16 product of 8192";
    instant.at = Seconds(0.1 * i);
    instant.rate = teraflops(i < 10 ? 250 : 200);
    samples.add(instant);
  }
  const cost::Profile profile = fit_profile(samples, {.gpu = "mine", .base = base});
  EXPECT_NEAR(std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).sustained_factor, 1.25, 0.01);
}

TEST(FitProfile, LayersSayTheClockOfTraining) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base);
  const cost::Profile without = fit_profile(samples, {.gpu = "mine", .base = base});
  cost::Profile busy = without;
  std::get<cost::TileWaveLaw>(busy.gemm.at(Precision::kBf16).law).sustained_factor = 1.2;
  for (const std::int64_t hidden : {4096, 8192, 12288})
    for (const bool backward : {false, true}) {
      measured::LayerSample layer{.backward = backward, .hidden = hidden, .ffn = 4 * hidden, .heads = hidden / 128};
      layer.time = timing(layer_time(layer, busy).all());
      samples.add(layer);
    }
  const cost::Profile profile = fit_profile(samples, {.gpu = "mine", .base = base});
  EXPECT_NEAR(std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).sustained_factor, 1.2, 0.002);
  for (const auto& layer : samples.layers) EXPECT_NEAR(layer_time(layer, profile).all() / layer.time.median, 1, 0.002);
  samples.layers.resize(5);
  EXPECT_FALSE(sustained_factor_of_layers(samples, without)) << "too few";
}

TEST(FitProfile, MessagesAndLaunchesAreOnesOwn) {
  const cost::Profile base = example_a100_profile();
  measured::Samples samples = samples_of(base);
  for (const int nodes : {1, 2})
    for (double bytes = 1024; bytes <= 1e9; bytes *= 4) {
      measured::CollectiveSample message;
      message.kind = measured::Collective::kSendRecv;
      message.bytes = Bytes(bytes);
      message.group = {.ranks = 8 * nodes, .nodes = nodes, .ranks_per_node = 8};
      message.time = timing(nodes == 1 ? Seconds(20e-6 + bytes / 240e9) : Seconds(30e-6 + bytes / 40e9));
      samples.add(message);
    }
  samples.add(measured::HostSample{.what = "launch", .bytes = {}, .time = timing(microseconds(4))});
  const cost::Profile profile =
      fit_profile(samples, {.gpu = "mine", .base = base, .link_gb_per_s = 300, .nic_gb_per_s = 400});
  const cost::PointToPointLaw& law = profile.point_to_point;
  EXPECT_NEAR(law.nvlink.latency.value(), 20e-6, 1e-7);
  EXPECT_NEAR(law.nvlink.efficiency, 0.8, 0.01);
  EXPECT_NEAR(law.network.latency.value(), 30e-6, 1e-7);
  EXPECT_NEAR(law.network.efficiency, 0.8, 0.01);
  EXPECT_EQ(law.nvlink.evidence.provenance, cost::Provenance::kMeasured);
  ASSERT_TRUE(profile.host);
  EXPECT_DOUBLE_EQ(profile.host->launch.value(), 4e-6);
}

TEST(Nearest, SameGpuThenArchitectureAndPeakThenTheShapeOfTheProducts) {
  Candidate small{.profile = example_a100_profile(), .datasheet = datasheet(312, 108, 2039)}, large = small,
                                                                                              newer = small;
  small.profile.gpu = "small";
  large.profile.gpu = "large";
  large.datasheet->peak[Precision::kFp16] = large.datasheet->peak[Precision::kBf16] = teraflops(600);
  newer.profile.gpu = "newer";
  newer.datasheet->architecture = "hopper";
  const std::vector<Candidate> all{newer, small, large};
  EXPECT_EQ(nearest(all, "large", std::nullopt, {}), 2u);
  EXPECT_EQ(nearest(all, "mine", datasheet(500, 108, 2039), {}), 2u);
  EXPECT_EQ(nearest(all, "mine", datasheet(320, 108, 2039), {}), 1u);
  EXPECT_EQ(nearest(all, "mine", std::nullopt, {}), std::nullopt) << "nothing to go by";
  EXPECT_TRUE(nearest(all, "mine", std::nullopt, samples_of(example_a100_profile())));
}

TEST(Nearest, FittedProfilesComeBeforeScaledOnesOfTheirArchitecture) {
  Candidate fitted{.profile = example_a100_profile(), .datasheet = datasheet(312, 108, 2039)}, scaled = fitted,
                                                                                               older = fitted;
  fitted.profile.gpu = "fitted";
  scaled.profile.gpu = "scaled";
  scaled.datasheet->peak[Precision::kFp16] = scaled.datasheet->peak[Precision::kBf16] = teraflops(600);
  for (auto& [precision, law] : scaled.profile.gemm) law.evidence.provenance = cost::Provenance::kScaled;
  older.datasheet->architecture = "volta";
  EXPECT_EQ(nearest({scaled, fitted}, "mine", datasheet(600, 108, 2039), {}), 1u);
  EXPECT_EQ(nearest({scaled, fitted}, "scaled", datasheet(600, 108, 2039), {}), 0u) << "the same GPU";
  EXPECT_EQ(nearest({older, scaled}, "mine", datasheet(312, 108, 2039), {}), 1u) << "another architecture is worse";
  EXPECT_EQ(nearest({scaled, fitted}, "mine", std::nullopt, samples_of(example_a100_profile())), 1u);
}

TEST(FitProfile, SameSamplesGiveTheSameBytes) {
  const cost::Profile base = example_a100_profile();
  const FitRequest request{.gpu = "mine", .base = base};
  const std::string text = io::to_json_text(fit_profile(samples_of(base), request));
  EXPECT_EQ(io::to_json_text(fit_profile(samples_of(base), request)), text);
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
  EXPECT_NEAR(cost::gemm_time(product, profile) / cost::gemm_time(product, base), 1.1, 0.01) << "at their speed";
  EXPECT_EQ(profile.gemm.at(Precision::kBf16).evidence.samples, 0);
  EXPECT_EQ(profile.memory_bound.efficiency, base.memory_bound.efficiency);
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
  EXPECT_THAT(text, ::testing::ContainsRegex("product bf16 8192 x 8192 x 8192 .* - +-\n"));
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
