// Tests that the second kind of nodes of a job numbers its GPUs from its own first one.
#include "sim/ranks/wires.h"

#include <gtest/gtest.h>

namespace foretoken::ranks {
namespace {

TEST(Side, CountsGpusFromItsFirstAndBack) {
  const Side second{.first_gpu = Gpu{16}, .first_node = NodeId{2}, .joined = true};
  EXPECT_EQ(in_fabric(Gpu{16}, second), net::FabricGpu{0});
  EXPECT_EQ(in_fabric(Gpu{19}, second), net::FabricGpu{3});
  EXPECT_EQ(in_job(net::FabricGpu{3}, second), Gpu{19});
}

}  // namespace
}  // namespace foretoken::ranks
