// Tests the check of a profile: errors computed by hand, and tables of a GPU that the base profile does not know.
#include "calibration/fit/profiles/check_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/fit/laws/fit_kernels.h"
#include "calibration/fit/laws/test_engine_table.h"
#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/import/import.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::fit {
namespace {

measured::Samples excerpts() {
  measured::Samples all;
  for (const char* name : {"b300_products.csv", "b300_quantisation.csv", "b300_attention.csv"})
    all.append(measured::import_any(std::string(FORETOKEN_SOURCE_DIR "/calibration/fit/testdata/") + name));
  return all;
}

net::Gpu datasheet(const std::string& name, double tflops, double gigabytes) {
  net::Gpu gpu;
  gpu.name = name;
  gpu.architecture = "blackwell";
  gpu.peak = {{Precision::kBf16, teraflops(tflops)}};
  gpu.streaming_multiprocessors = 148;
  gpu.memory_bandwidth = gigabytes_per_second(gigabytes);
  return gpu;
}

const cost::Profile& fitted_on_excerpts() {
  static const cost::Profile profile = fit_profile(excerpts(), {.gpu = "b300",
                                                                .datasheet = datasheet("b300", 2250, 8000),
                                                                .base = cost::example_a100_profile(),
                                                                .base_datasheet = datasheet("a100", 312, 2039)});
  return profile;
}

const ErrorClass& class_of(const ProfileCheck& check, const std::string& kind, const std::string& size) {
  const auto found = std::find_if(check.classes.begin(), check.classes.end(),
                                  [&](const ErrorClass& one) { return one.kind == kind && one.size == size; });
  EXPECT_NE(found, check.classes.end()) << kind << ", " << size;
  return found == check.classes.end() ? check.classes.front() : *found;
}

TEST(Summarised, QuantilesOfSizesAndMedianOfSigns) {
  const ErrorSummary errors = summarised({0.9, 1.0, 1.3, 1.1, 0.95});
  EXPECT_EQ(errors.rows, 5U);
  EXPECT_NEAR(errors.median, 0.1, 1e-12);
  EXPECT_NEAR(errors.p90, 0.3, 1e-12);
  EXPECT_NEAR(errors.bias, 0, 1e-12);
  EXPECT_EQ(summarised({}).rows, 0U);
}

TEST(CheckProfile, ComparesBriefRunsBySizeAndPrecision) {
  cost::Profile profile = cost::example_a100_profile();
  const GemmShape large{.m = 2048, .n = 2048, .k = 2048}, small{.m = 64, .n = 2048, .k = 2048};
  measured::Samples samples;
  samples.origins.push_back({.source = "run", .gpu = "", .facts = {}});
  for (const GemmShape& shape : {large, small}) {
    measured::GemmSample sample{.shape = shape};
    sample.time.median = 2.0 * cost::gemm_time(shape, profile);
    samples.add(sample);
    sample.shape.precision = Precision::kNvfp4;
    samples.add(sample);
  }
  std::get<cost::TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).sustained_factor = 1.5;
  const ProfileCheck check = check_profile(profile, samples);
  ASSERT_EQ(check.precisions.size(), 1U);
  EXPECT_EQ(check.precisions.at(Precision::kBf16).rows, 1U);
  EXPECT_NEAR(check.precisions.at(Precision::kBf16).bias, -0.5, 1e-9) << "the table's runs are brief";
  EXPECT_EQ(check.classes.front().size, "m, n, k >= 1024");
  EXPECT_EQ(class_of(check, "products bf16", "smaller").errors.rows, 1U);
  EXPECT_THAT(check.left_out, testing::ElementsAre("products nvfp4"));
}

/// Returns predicted over measured time of a product, when the law's time at full clocks is measured.
double bias_of(GemmShape shape, int runs) {
  const Precision precision = shape.precision;
  cost::Profile profile = fitted_on_excerpts();
  profile.gemm[precision] = profile.gemm.at(Precision::kBf16);
  auto& tiles = std::get<cost::TileWaveLaw>(profile.gemm.at(precision).law);
  tiles.sustained_factor = 1;
  measured::GemmSample sample{.shape = shape};
  sample.time.median = cost::gemm_time(sample.shape, profile);
  sample.time.runs = runs;
  measured::Samples samples;
  samples.origins.push_back({.source = "run", .gpu = "", .facts = {}});
  samples.add(sample);
  tiles.sustained_factor = 1.2;
  return check_profile(profile, samples).classes.front().errors.bias;
}

double bias_of_cube(std::int64_t side, Precision precision, int runs) {
  return bias_of({.m = side, .n = side, .k = side, .precision = precision}, runs);
}

TEST(CheckProfile, LongKernelsOfPublishedTablesLowerTheirClock) {
  EXPECT_NEAR(bias_of_cube(2048, Precision::kBf16, 0), 0, 1e-9) << "tens of microseconds: full clock";
  EXPECT_NEAR(bias_of_cube(32768, Precision::kBf16, 0), 0.2, 1e-3) << "tens of milliseconds: as in a long run";
  const double between = bias_of_cube(14336, Precision::kBf16, 0);  // some 4 ms
  EXPECT_GT(between, 0.05);
  EXPECT_LT(between, 0.15);
  EXPECT_NEAR(bias_of_cube(14336, Precision::kBf16, 3), 0.2, 2e-3) << "our own runs keep the GPU busy";
  EXPECT_NEAR(bias_of_cube(32768, Precision::kFp8, 0), 0, 1e-9) << "narrow products keep their clock";
  EXPECT_NEAR(bias_of({.m = 16, .n = 65536, .k = 65536}, 0), 0, 1e-9) << "milliseconds of reading weights";
}

TEST(FitProfile, MeetsTablesOfAGpuThatItsBaseDoesNotKnow) {
  const ProfileCheck check = check_profile(fitted_on_excerpts(), excerpts());
  EXPECT_LT(check.precisions.at(Precision::kFp8).median, 0.08);
  EXPECT_LT(check.precisions.at(Precision::kFp8Block).median, 0.08);
  EXPECT_LT(class_of(check, "cast", ">= 1 MB").errors.median, 0.10);
  EXPECT_LT(class_of(check, "scan", ">= 1 MB").errors.median, 0.12);
  EXPECT_LT(class_of(check, "attention forward causal bf16 d128", "seq >= 2048").errors.median, 0.09);
  EXPECT_LT(class_of(check, "attention forward causal fp8 d128", "seq >= 2048").errors.median, 0.09);
}

/// Returns kernels of causal attention, each behind a kernel that writes keys and values into a cache.
measured::Samples with_cache(const cost::Profile& profile, Seconds launch, BytesPerSecond rate) {
  const EngineTable table{.kernel = "fused", .head_dim = 64, .kv_heads = {1, 4, 8}, .batches = {1, 2, 4}};
  return engine_table(table, [&](const measured::AttentionSample& sample) {
    return cost::attention_time(sample.shape, profile) + launch + sample.beside / rate;
  });
}

TEST(FitProfile, TheRateOfWritingACacheIsTheEnginesOwn) {
  cost::Profile truth = cost::example_a100_profile();
  truth.attention.sustained_factor = 1;
  const measured::Samples samples = with_cache(truth, Seconds(12e-6), gigabytes_per_second(300));
  const cost::Profile fitted = fit_profile(samples, {.gpu = truth.gpu, .base = truth});
  const auto law = std::find_if(fitted.attention.laws.begin(), fitted.attention.laws.end(),
                                [](const auto& l) { return l.head_dim == 64 && l.causal; });
  ASSERT_NE(law, fitted.attention.laws.end());
  ASSERT_TRUE(law->cache_write);
  EXPECT_NEAR(law->cache_write->launch.value(), 12e-6, 1e-6);
  EXPECT_NEAR(law->cache_write->bandwidth.value(), 300e9, 10e9) << "not the rate of memory";
  EXPECT_LT(class_of(check_profile(fitted, samples), "attention forward causal bf16 d64", "seq >= 2048").errors.median,
            0.02);
  const AttentionShape plain{.batch = 2, .heads = 16, .q_length = 4096, .kv_length = 4096, .head_dim = 64};
  EXPECT_NEAR(cost::attention_time(plain, fitted) / cost::attention_time(plain, truth), 1, 0.02)
      << "training writes no cache";
}

TEST(CheckProfile, KernelsOfEnginesHaveTheLawsOfServing) {
  cost::Profile truth = cost::example_a100_profile();
  truth.attention.sustained_factor = 1;
  cost::Profile slow = truth;
  for (cost::AttentionLaw& each : slow.attention.laws) each.forward.peak = 0.7 * each.forward.peak;
  measured::Samples samples = with_cache(slow, Seconds(12e-6), gigabytes_per_second(300));
  const auto bias = [&](const cost::Profile& profile) {
    return class_of(check_profile(profile, samples), "attention forward causal bf16 d64", "seq >= 2048").errors.bias;
  };
  truth.attention.serving = fitted_attention(truth, samples).laws;
  ASSERT_EQ(truth.attention.serving.size(), 1U);
  EXPECT_NEAR(bias(truth), 0, 0.01);
  EXPECT_EQ(fit_profile(samples, {.gpu = truth.gpu, .base = truth}).attention.serving.size(), 0U)
      << "the engine's kernels are the law now";
  for (measured::From<measured::AttentionSample>& sample : samples.attention) sample.beside = Bytes(0);
  EXPECT_LT(bias(truth), -0.2) << "training does not run the engine's kernel";
}

TEST(FitProfile, ATokenInACacheTakesTheThreadsThatWriteIt) {
  cost::Profile truth = cost::example_a100_profile();
  truth.attention.sustained_factor = 1;
  measured::Samples samples = with_cache(truth, Seconds(5e-6), gigabytes_per_second(2000));
  for (measured::From<measured::AttentionSample>& sample : samples.attention) {
    AttentionShape& shape = sample.shape;
    if (shape.kv_heads == 8)
      shape.kv_heads = shape.heads;  // heads of 64: 64 to 512 threads, and more numbers than that
    const auto tokens = static_cast<double>(shape.batch * shape.kv_length), heads = static_cast<double>(shape.kv_heads);
    sample.implementation = "vllm_flash_attn";
    sample.beside = Bytes(1024 * tokens * heads);
    sample.time.median = cost::attention_time(shape, truth) + Seconds(5e-6) +
                         sample.beside / gigabytes_per_second(2000) + tokens * std::min(1.0, heads / 8) * Seconds(4e-9);
  }
  const cost::Profile fitted = fit_profile(samples, {.gpu = truth.gpu, .base = truth});
  const auto law = std::find_if(fitted.attention.laws.begin(), fitted.attention.laws.end(),
                                [](const auto& l) { return l.head_dim == 64 && l.causal; });
  ASSERT_NE(law, fitted.attention.laws.end());
  ASSERT_TRUE(law->cache_write);
  EXPECT_NEAR(law->cache_write->token.value(), 4e-9, 0.4e-9);
  EXPECT_NEAR(law->cache_write->bandwidth.value(), 2000e9, 200e9);
  const auto bias = [&] {
    return class_of(check_profile(fitted, samples), "attention forward causal bf16 d64", "seq >= 2048").errors.bias;
  };
  EXPECT_NEAR(bias(), 0, 0.01);
  for (measured::From<measured::AttentionSample>& sample : samples.attention) sample.implementation = "fa3";
  EXPECT_LT(bias(), -0.01) << "another engine has no such thread blocks";
}

TEST(FitProfile, KernelsWithAWindowMayBeAnotherEngines) {
  cost::Profile truth = cost::example_a100_profile();
  truth.attention.sustained_factor = 1;
  for (cost::AttentionLaw& law : truth.attention.laws) law.window_overhang = 200;
  measured::Samples samples = with_cache(truth, Seconds(2e-6), gigabytes_per_second(2000));
  const measured::Samples plain = samples;
  for (measured::From<measured::AttentionSample> sample : plain.attention)
    for (const std::int64_t window : {256, 512, 768}) {
      sample.shape.window = window;
      sample.time.median =
          cost::attention_time(sample.shape, truth) + Seconds(6e-6) + sample.beside / gigabytes_per_second(400);
      samples.attention.push_back(sample);
    }
  const cost::Profile fitted = fit_profile(samples, {.gpu = truth.gpu, .base = truth});
  const auto law = std::find_if(fitted.attention.laws.begin(), fitted.attention.laws.end(),
                                [](const auto& l) { return l.head_dim == 64 && l.causal; });
  ASSERT_NE(law, fitted.attention.laws.end());
  ASSERT_TRUE(law->cache_write && law->window_cache_write);
  EXPECT_NEAR(law->cache_write->bandwidth.value(), 2000e9, 100e9);
  EXPECT_NEAR(law->window_cache_write->bandwidth.value(), 400e9, 20e9);
  EXPECT_NEAR(law->window_overhang, 200, 40);
}

/// Returns kernels of full attention with part of a wave to a few dozen of them.
measured::Samples without_mask(const cost::Profile& profile) {
  measured::Samples samples;
  samples.origins.push_back({.source = "engine", .gpu = "", .facts = {}});
  for (const std::int64_t length : {1024, 1500, 3000, 8192})
    for (std::int64_t heads = 1; heads <= 98; ++heads) {
      measured::AttentionSample sample;
      sample.shape = {.heads = heads, .kv_heads = heads, .q_length = length, .kv_length = length, .head_dim = 64};
      sample.shape.causal = false;
      sample.implementation = "fused";
      sample.time.median = cost::attention_time(sample.shape, profile);
      samples.add(sample);
    }
  return samples;
}

TEST(FitProfile, FindsTheWavesOfKernelsWithoutAMask) {
  cost::Profile truth = cost::example_a100_profile();
  truth.attention.sustained_factor = 1;
  cost::AttentionLaw waves = truth.attention.laws.front();
  waves.head_dim = 64;
  waves.causal = false;
  waves.forward.tail = 0.8;
  waves.forward.waves = cost::AttentionWaves{.block_rows = 192, .softness = 0.1, .knee = 2};
  std::erase_if(truth.attention.laws, [](const auto& l) { return l.head_dim == 64 && !l.causal; });
  truth.attention.laws.push_back(waves);
  const cost::Profile base = cost::example_a100_profile();
  const cost::Profile fitted = fit_profile(without_mask(truth), {.gpu = truth.gpu, .base = base});
  const auto law = std::find_if(fitted.attention.laws.begin(), fitted.attention.laws.end(),
                                [](const auto& l) { return l.head_dim == 64 && !l.causal; });
  ASSERT_NE(law, fitted.attention.laws.end());
  ASSERT_TRUE(law->forward.waves);
  EXPECT_EQ(law->forward.waves->block_rows, 192);
  EXPECT_NEAR(law->forward.waves->softness, 0.1, 0.05);
  EXPECT_LT(law->evidence.median_error, 0.01);
  EXPECT_FALSE(law->backward.waves) << "not measured";
}

TEST(FitProfile, AttentionOfAnotherGpuLosesTheBasesSustainedFactor) {
  cost::Profile base = cost::example_a100_profile();
  base.attention.sustained_factor = 1.2;
  std::get<cost::TileWaveLaw>(base.gemm.at(Precision::kBf16).law).sustained_factor = 1.1;
  measured::Samples samples = excerpts();
  const FitRequest request{.gpu = "b300",
                           .datasheet = datasheet("b300", 2250, 8000),
                           .base = base,
                           .base_datasheet = datasheet("a100", 312, 2039)};
  EXPECT_EQ(fit_profile(samples, request).attention.sustained_factor, 1.1) << "that of the products";
  samples.attention.clear();
  EXPECT_EQ(fit_profile(samples, request).attention.sustained_factor, 1.2) << "lent with the laws";
}

TEST(FitProfile, QuantisationIsCountedApartFromTheProduct) {
  const cost::Profile& profile = fitted_on_excerpts();
  ASSERT_TRUE(profile.quantisation);
  EXPECT_EQ(profile.quantisation->cast.evidence.provenance, cost::Provenance::kFitted);
  EXPECT_GT(profile.quantisation->cast.evidence.held_out, 20);
  measured::Samples with = excerpts();
  for (auto& sample : with.gemms) sample.with_quantisation = true;  // as if none had been taken off
  const auto slower = check_profile(profile, with).precisions, plain = check_profile(profile, excerpts()).precisions;
  EXPECT_GT(slower.at(Precision::kFp8).bias, plain.at(Precision::kFp8).bias);
  EXPECT_EQ(slower.at(Precision::kFp8Block).bias, plain.at(Precision::kFp8Block).bias)
      << "their quantisation stays in their time";
}

TEST(CheckProfile, DecodeAndSmallAllReducesAskTheLawsOfServing) {
  const std::string decode =
      "kv_dtype,batch,kv_len,heads,kv_heads,head_dim,time_us,kernel\nbfloat16,4,1024,8,8,128,100,fa3\n";
  measured::Samples samples = measured::import_csv(decode, "d.csv");
  samples.append(measured::import_csv("implementation,ranks,bytes,time_us\ntrtllm,8,1024,8\n", "a.csv"));
  cost::ServingLaws laws;
  laws.decode[cost::CacheKind::kWide] = {
      .launch = microseconds(50), .bandwidth = BytesPerSecond(1e30), .step{}, .sharpness = 1};
  laws.all_reduces[cost::AllReduceKernels::kTrtLlm] = {
      .source = "", .tables = {{.ranks = 8, .rows = {{Bytes(512), microseconds(6)}, {Bytes(2048), microseconds(6)}}}}};
  const ProfileCheck check = check_profile(cost::example_a100_profile(), samples, &laws);
  ASSERT_EQ(check.classes.size(), 2U);
  EXPECT_EQ(check.classes[0].kind, "decode attention bf16 d128");
  EXPECT_NEAR(check.classes[0].errors.bias, -0.5, 1e-9) << "50 us for 100";
  EXPECT_EQ(check.classes[1].kind, "small all-reduce trtllm of 8 ranks");
  EXPECT_NEAR(check.classes[1].errors.bias, -0.25, 1e-9) << "6 us for 8";
  EXPECT_EQ(check_profile(cost::example_a100_profile(), samples).left_out.size(), 2U) << "no laws of serving";
}

}  // namespace
}  // namespace foretoken::fit
