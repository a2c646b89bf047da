// Tests keys that the user states over those of a file.
#include "sim/io/import/launch/user_sets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

Report recomputed(const std::string& flags, std::vector<std::string> sets) {
  Findings findings;
  Launch launch;
  launch.sets = std::move(sets);
  Report report = read_launch_text(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 "
      "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --bf16 " +
          flags + "\n",
      "train.sh", launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

constexpr const char* kFull = "--recompute-granularity full --recompute-method block --recompute-num-layers 2";

TEST(UserSets, AnotherGranularityDropsTheMethodOfTheFile) {
  EXPECT_EQ(recomputed(kFull, {}).whole("recompute.layers"), 2);
  for (const char* granularity : {"none", "selective"}) {
    const Report report = recomputed(kFull, {std::string("recompute.granularity=") + granularity});
    EXPECT_EQ(report.at("recompute"), Json({{"granularity", granularity}}));
    EXPECT_TRUE(report.names("recompute.layers")) << "a line says that they are dropped";
  }
  const Report full =
      recomputed("--recompute-granularity selective --recompute-modules mlp", {"recompute.granularity=full"});
  EXPECT_FALSE(full.has("recompute.modules"));
}

TEST(UserSets, WhatTheUserStatesAndWhatFitsStays) {
  EXPECT_EQ(recomputed(kFull, {"recompute.granularity=full"}).whole("recompute.layers"), 2);
  const Report both = recomputed(kFull, {"recompute.granularity=none", "recompute.layers=3"});
  EXPECT_EQ(both.whole("recompute.layers"), 3) << "the scenario's own reader refuses it";
  EXPECT_EQ(recomputed(kFull, {"recompute.layers=3"}).whole("recompute.layers"), 3);
}

}  // namespace
}  // namespace foretoken::io::launch
