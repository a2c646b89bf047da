// Tests submissions of MLPerf some of whose files are not there.
#include "sim/io/import/launch/mlperf/read_mlperf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char* kName = "benchmarks/llama31_8b/implementations/nemo/config_DGXB200_2x8x2.sh";
constexpr const char* kVariables =
    "export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\nexport PP=1\nexport CP=1\n";

bool asks(const Report& report, const char* key) {
  return std::ranges::find(report.asked, key, &Asked::key) != report.asked.end();
}

TEST(ReadMlperf, WhatAnAbsentFileMayStateIsAsked) {
  const Report report = read_test_launch(std::string("source config_common.sh\n") + kVariables, kName);
  for (const char* key : {"precision", "recompute.granularity", "parallelism.tensor", "batch.global"}) {
    EXPECT_TRUE(asks(report, key)) << key;
    EXPECT_FALSE(report.has(key)) << key;
  }
  EXPECT_FALSE(report.has("parallelism.sequence_parallel"));
  EXPECT_EQ(report.whole("parallelism.pipeline"), 1) << "the script states it";
  EXPECT_EQ(report.whole("parallelism.expert"), 1) << "the model has no experts";
}

TEST(ReadMlperf, WhereAllFilesAreThereDefaultsHold) {
  const Report report = read_test_launch(kVariables, kName);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.whole("parallelism.tensor"), 1);
  EXPECT_EQ(report.whole("batch.global"), 2 * 16);
}

TEST(ReadMlperf, FormatsThatChangeDuringTheRunAreNamed) {
  const Report report = read_test_launch(std::string(kVariables) + "export FP4=True\nexport HEALING_ITER=350\n", kName);
  EXPECT_EQ(report.at("precision"), Json("nvfp4"));
  EXPECT_TRUE(report.names("HEALING_ITER"));
  EXPECT_FALSE(read_test_launch(std::string(kVariables) + "export FP4=True\nexport HEALING_ITER=0\n", kName)
                   .names("HEALING_ITER"));
}

}  // namespace
}  // namespace foretoken::io::launch::mlperf
