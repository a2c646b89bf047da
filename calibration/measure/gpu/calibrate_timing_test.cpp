// Tests that every kind of measurement runs and gives plausible times. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include "calibration/import/kernel_work.h"
#include "calibration/import/layer_work.h"
#include "calibration/import/sample_json.h"
#include "calibration/measure/gpu/attention/fused_attention.h"
#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/test_gpu.h"
#include "calibration/measure/plan.h"

namespace foretoken::gpu {
namespace {

using Timing = GpuTest;

TEST_F(Timing, EveryPlannedKernelRunsAndMovesBytesNoFasterThanTheCacheCould) {
  Workbench bench(open_device(0));
  for (const std::string_view kernel : measure::kernel_names()) {
    measured::KernelSample sample;
    sample.kernel = std::string(kernel);
    sample.rows = 4096;
    sample.columns = 4096;
    sample.bytes = measured::kernel_bytes(kernel, sample.rows, sample.columns);
    const auto timed = time_kernel(bench, sample);
    ASSERT_TRUE(timed) << kernel;
    const double rate = (sample.bytes / timed->time.median).value();
    EXPECT_GT(rate, 50e9) << kernel;
    EXPECT_LT(rate, 20e12) << kernel;
  }
}

TEST_F(Timing, EveryKindOfProductIsTimed) {
  Workbench bench(open_device(0));
  const CublasLt library;
  warm_up(bench, library);
  for (const Precision precision : {Precision::kBf16, Precision::kFp16, Precision::kFp8})
    for (const GemmPass pass : {GemmPass::kForward, GemmPass::kInputGradient, GemmPass::kWeightGradient}) {
      if (precision == Precision::kFp8 && !bench.device().has_fp8()) continue;
      measured::GemmSample sample;
      sample.shape = {.m = 2048, .n = 2048, .k = 2048, .pass = pass, .precision = precision};
      sample.adds_to_fp32 = pass == GemmPass::kWeightGradient;
      const auto timed = time_gemm(bench, library, sample);
      ASSERT_TRUE(timed) << name_of(precision) << " " << int(pass);
      const double rate = (sample.shape.flop() / timed->time.median).value();
      EXPECT_GT(rate, 10e12);
      EXPECT_LT(rate, 10e15);
      EXPECT_LE(timed->time.p10, timed->time.median);
      EXPECT_LE(timed->time.median, timed->time.p90);
    }
}

TEST_F(Timing, AttentionIsTimedForwardAndBackward) {
  Workbench bench(open_device(0));
  const CublasLt library;
  for (const bool backward : {false, true}) {
    measured::AttentionSample sample;
    sample.shape = {.batch = 4, .heads = 16, .kv_heads = 16, .q_length = 1024, .kv_length = 1024, .backward = backward};
    sample.implementation = "composed";
    const auto composed = time_composed_attention(bench, library, sample);
    ASSERT_TRUE(composed);
    EXPECT_GT((sample.shape.flop() / composed->time.median).value(), 1e12);
    if (!FusedAttention::missing().empty()) continue;
    const auto fused = FusedAttention().time(bench, sample);
    ASSERT_TRUE(fused);
    EXPECT_LT(fused->time.median, composed->time.median) << "a fused kernel writes no scores";
  }
}

TEST_F(Timing, LayersOfBothFamiliesAreTimed) {
  Workbench bench(open_device(0));
  const CublasLt library;
  for (const auto family : {measured::LayerFamily::kGpt, measured::LayerFamily::kLlama}) {
    Seconds forward{};
    for (const bool backward : {false, true}) {
      const auto timed = time_layer(
          bench, library,
          {.family = family, .backward = backward, .sequence = 1024, .hidden = 2048, .ffn = 8192, .heads = 16});
      ASSERT_TRUE(timed);
      const double rate = (flop_of(measured::layer_work(*timed)) / timed->time.median).value();
      EXPECT_GT(rate, 10e12);
      EXPECT_LT(rate, 10e15);
      EXPECT_GT(timed->time.median, forward) << "backward has twice the products";
      forward = timed->time.median;
    }
  }
}

TEST_F(Timing, HostCostsAndClocksAreMeasured) {
  Workbench bench(open_device(0));
  for (const measured::HostSample& sample : host_plan(true)) {
    const auto timed = time_host(bench, sample);
    ASSERT_TRUE(timed) << sample.what;
    EXPECT_LT(timed->time.median.value(), 1) << sample.what;
  }
  const auto clocks = sustained_run(bench, CublasLt(), Precision::kBf16, Seconds(0.2), [] { return false; });
  ASSERT_GT(clocks.size(), 5U);
  for (std::size_t i = 1; i < clocks.size(); ++i) EXPECT_GT(clocks[i].at, clocks[i - 1].at);
  EXPECT_TRUE(sustained_run(bench, CublasLt(), Precision::kBf16, Seconds(5), [] { return true; }).empty());
}

}  // namespace
}  // namespace foretoken::gpu
