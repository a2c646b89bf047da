// Checks messages by hand, and the NICs that senders share.
#include <gtest/gtest.h>

#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"

namespace foretoken::cost {
namespace {

double seconds(double bytes, bool crosses_nodes, int senders, const NodeLinks& links) {
  const PointToPointShape shape{.payload = Bytes(bytes), .crosses_nodes = crosses_nodes, .senders_per_node = senders};
  return point_to_point_time(shape, links, example_a100_profile()).value();
}

TEST(PointToPoint, EveryPathByHand) {
  EXPECT_NEAR(seconds(30e6, false, 1, dgx_a100()), 10e-6 + 30e6 / 150e9, 1e-15);
  EXPECT_NEAR(seconds(30e6, false, 1, pcie_box()), 10e-6 + 30e6 / (0.6 * 32e9), 1e-15);
  EXPECT_NEAR(seconds(30e6, true, 1, dgx_a100()), 15e-6 + 30e6 / 20e9, 1e-15);
}

TEST(PeerCopy, TakesTheCopyEnginesPartOfNvlinkAfterALaunch) {
  const Profile profile = example_a100_profile();
  const Seconds launch = profile.memory_bound.launch;
  EXPECT_EQ(peer_copy_time(Bytes(0), dgx_a100(), profile), launch) << "a barrier";
  EXPECT_NEAR(peer_copy_time(Bytes(30e6), dgx_a100(), profile).value(), launch.value() + 30e6 / (0.88 * 300e9), 1e-15);
}

TEST(PointToPoint, OneSenderDrivesItsOwnNicOnlyAndManyShareAll) {
  NodeLinks four_nics = dgx_a100();
  four_nics.nics = 4;
  EXPECT_DOUBLE_EQ(seconds(30e6, true, 1, dgx_a100()), seconds(30e6, true, 8, dgx_a100()));
  EXPECT_DOUBLE_EQ(seconds(30e6, true, 1, four_nics), seconds(30e6, true, 4, four_nics));
  EXPECT_NEAR(seconds(30e6, true, 8, four_nics), 15e-6 + 30e6 / (0.8 * 12.5e9), 1e-15);
}

TEST(PointToPoint, OversubscriptionDividesTheRate) {
  NodeLinks thin = dgx_a100();
  thin.oversubscription = 2;
  EXPECT_NEAR(seconds(30e6, true, 8, thin), 15e-6 + 30e6 / 10e9, 1e-15);
}

TEST(NetworkShare, MoreNicsThanGpusServeEachGpuWithSeveral) {
  NodeLinks efa = dgx_a100();
  efa.nics = 32;
  efa.nic = gigabytes_per_second(12.5);
  EXPECT_DOUBLE_EQ(network_share(efa, 1, 8).value(), 50e9);
  EXPECT_DOUBLE_EQ(network_share(efa, 8, 1).value(), 400e9);
}

}  // namespace
}  // namespace foretoken::cost
