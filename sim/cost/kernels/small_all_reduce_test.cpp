#include "sim/cost/kernels/small_all_reduce.h"

#include <gtest/gtest.h>

namespace foretoken::cost {
namespace {

constexpr auto kVllm = AllReduceKernels::kVllm;

SmallAllReduces over(int ranks) {
  return {.source = "",
          .tables = {{.ranks = ranks, .rows = {{Bytes(1024), microseconds(4)}, {Bytes(4096), microseconds(16)}}}}};
}

TEST(SmallAllReduce, IsTheTableAndTheLineBetweenItsRowsOnLogarithms) {
  const EngineAllReduces engines{{kVllm, over(8)}};
  const auto us = [&](double bytes, int ranks, AllReduceKernels kernels = kVllm) {
    const auto time = small_all_reduce_time(Bytes(bytes), ranks, kernels, engines);
    return time ? time->value() * 1e6 : -1;
  };
  EXPECT_DOUBLE_EQ(us(1, 8), 4) << "below the table";
  EXPECT_DOUBLE_EQ(us(1024, 8), 4);
  EXPECT_DOUBLE_EQ(us(2048, 8), 8) << "half the way";
  EXPECT_DOUBLE_EQ(us(4096, 8), 16);
  EXPECT_EQ(us(4097, 8), -1) << "NCCL's sizes";
  EXPECT_EQ(us(1024, 4), -1) << "ranks without a table";
  EXPECT_EQ(us(1024, 8, AllReduceKernels::kSglang), -1) << "kernels without a table";
}

TEST(SmallAllReduce, OtherKernelsStandForThoseWithoutATable) {
  const EngineAllReduces engines{{AllReduceKernels::kTrtLlm, over(4)}, {kVllm, over(8)}};
  EXPECT_EQ(kernels_or_stand_in(kVllm, 8, engines), kVllm);
  EXPECT_EQ(kernels_or_stand_in(kVllm, 4, engines), AllReduceKernels::kTrtLlm);
  EXPECT_EQ(kernels_or_stand_in(kVllm, 2, engines), std::nullopt);
  const EngineAllReduces two{{AllReduceKernels::kTrtLlm, over(4)}, {AllReduceKernels::kSglang, over(4)}};
  EXPECT_EQ(kernels_or_stand_in(kVllm, 4, two), AllReduceKernels::kTrtLlm) << "the first of two";
}

}  // namespace
}  // namespace foretoken::cost
