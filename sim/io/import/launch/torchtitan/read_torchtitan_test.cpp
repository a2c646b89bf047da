// Tests keys of torchtitan.
#include "sim/io/import/launch/torchtitan/read_torchtitan.h"

#include <gtest/gtest.h>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::torchtitan {
namespace {

TEST(ReadTorchtitan, CastingWeightsAnewIsASmallEffect) {
  const Report report = read_test_launch(
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
      "[float8]\nforce_recompute_fp8_weight_in_bwd = true\n",
      "a.toml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("float8.force_recompute_fp8_weight_in_bwd"));
}

}  // namespace
}  // namespace foretoken::io::launch::torchtitan
