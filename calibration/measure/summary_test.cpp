// Tests the rates of the summary: operations, bytes and bus traffic over the median, beside the datasheet.
#include "calibration/measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretoken::measure {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

measured::Timing exactly(Seconds time) { return {time, time, time, 1}; }

TEST(Summary, ShowsTheBestOfEachKindBesideTheDatasheet) {
  measured::Samples samples;
  samples.origins.push_back({"foretoken-calibrate", "GPU", {}});
  const GemmShape shape{.m = 1000, .n = 1000, .k = 1000};  // 2e9 operations
  samples.add(measured::GemmSample{.shape = shape, .time = exactly(microseconds(4))});
  samples.add(measured::GemmSample{.shape = shape, .time = exactly(microseconds(5))});
  samples.add(measured::KernelSample{"copy", 1, 8, Bytes(3e9), true, exactly(Seconds(1e-3))});
  samples.add(measured::KernelSample{"copy", 1, 8, Bytes(3e9), false, exactly(Seconds(1e-4))});
  measured::CollectiveSample all_reduce;
  all_reduce.bytes = Bytes(1e9);
  all_reduce.group = {.ranks = 4, .nodes = 1, .ranks_per_node = 4};
  all_reduce.time = exactly(Seconds(0.01));
  samples.add(all_reduce);
  samples.add(measured::HostSample{"launch", Bytes(0), exactly(microseconds(2.5))});
  samples.add(measured::HostSample{"nccl_one_rank_call", Bytes(1e9), exactly(microseconds(9.5))});
  samples.add(measured::HostSample{"nccl_one_rank_call", Bytes(1024), exactly(microseconds(7.5))});
  samples.add(measured::LayerSample{.time = exactly(Seconds(3e-3))});
  samples.add(measured::ClockSample{"w", Seconds(0.01), teraflops(700), 1980, 400, 40});
  samples.add(measured::ClockSample{"w", Seconds(5), teraflops(600), 1400, 700, 60});
  net::Gpu gpu;
  gpu.name = "sheet";
  gpu.peak[Precision::kBf16] = teraflops(1000);
  gpu.memory_bandwidth = gigabytes_per_second(4000);
  const std::string text = summary_text(samples, gpu);
  EXPECT_THAT(text, HasSubstr("11 samples of GPU, datasheet sheet"));
  EXPECT_THAT(text, HasSubstr("best 500 TFLOP/s (50.0 % of the datasheet's 1000) at 1000 x 1000 x 1000"));
  EXPECT_THAT(text, HasSubstr("best 3000 GB/s (75.0 % of the datasheet's 4000) at 3000 MB")) << "warm does not count";
  EXPECT_THAT(text, HasSubstr("best bus bandwidth 150 GB/s at 1000 MB"));
  EXPECT_THAT(text, HasSubstr("2.50 us"));
  EXPECT_THAT(text, HasSubstr("nccl_one_rank_call 7.50 us"));
  EXPECT_THAT(text, HasSubstr("llama forward      best 299 TFLOP/s at hidden 4096, 2048 tokens, tensor degree 1"));
  EXPECT_THAT(text, HasSubstr("700 TFLOP/s at first, 600 after 5.0 s, 1400 MHz, 700 W"));
  EXPECT_THAT(summary_text(samples, std::nullopt), Not(HasSubstr("%")));
}

}  // namespace
}  // namespace foretoken::measure
