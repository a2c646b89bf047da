// Tests that settings are read completely, and that unknown ones are refused.
#include "calibration/fit/collectives/nccl_environment.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace foretoken::fit {
namespace {

TEST(NcclEnvironment, ReadsTheSettingsOfTables) {
  const NcclEnvironment read = read_nccl_environment(
      "NCCL_ALGO=RING NCCL_PROTO=LL128 NCCL_MIN_NCHANNELS=32 NCCL_NVLS_ENABLE=0 NCCL_NCHANNELS_PER_NET_PEER=16", "t");
  EXPECT_EQ(read.settings.algorithm, cost::NcclAlgorithm::kRing);
  EXPECT_EQ(read.settings.protocol, cost::NcclProtocol::kLl128);
  EXPECT_FALSE(read.settings.nvls);
  EXPECT_EQ(read.message_channels, 16) << "not 1";
  const NcclEnvironment none = read_nccl_environment("", "t");
  EXPECT_TRUE(none.settings.nvls && !none.settings.algorithm && !none.settings.protocol && !none.message_channels);
}

TEST(NcclEnvironment, RefusesUnknownSettings) {
  for (const char* wrong : {"NCCL_ALGO=Star", "NCCL_PROTO=LL64", "NCCL_NCHANNELS_PER_NET_PEER=4x",
                            "NCCL_NCHANNELS_PER_NET_PEER=0", "NCCL_MAX_NCHANNELS=2", "NCCL_ALGO", "QPS="})
    EXPECT_THROW((void)read_nccl_environment(wrong, "t"), ConfigError) << wrong;
}

}  // namespace
}  // namespace foretoken::fit
