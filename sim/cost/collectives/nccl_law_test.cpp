// Tests where NCCL's choice replaces a profile's curves, and where it does not. sim/ranks/nccl_flows_test.cpp tests the
// law.
#include "sim/cost/collectives/nccl_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"
#include "sim/cost/unseen.h"

namespace foretoken::cost {
namespace {

using enum CollectiveKind;

NcclSystem system_of_rings() {
  NcclSystem system{.architecture = NcclArchitecture::kAmpere, .tuning = {}};
  for (auto* table :
       {&system.tuning.base, &system.tuning.nvlink_hop, &system.tuning.pci_hop, &system.tuning.network_hop})
    (*table)[NcclAlgorithm::kRing] = {};
  system.tuning.nvlink_per_link = system.tuning.nvlink_reached = {20, 20, 20.6, 40.1};
  return system;
}

TEST(NcclLaw, ReplacesCurvesThatNobodyMeasured) {
  Profile profile = example_a100_profile();
  for (auto& curve : profile.network.curves) curve.evidence.provenance = Provenance::kFitted;
  for (auto& curve : profile.nvlink.curves) curve.evidence.provenance = Provenance::kFitted;
  const auto changes = [&](CollectiveKind kind, int nodes) {
    const GroupShape group{.ranks = 8 * nodes, .nodes = nodes, .ranks_per_node = 8};
    const CollectiveShape shape{kind, Bytes(1e9), group};
    Profile other = profile;
    other.nccl = system_of_rings();
    const Seconds with = collective_time(shape, dgx_a100(), other);
    EXPECT_TRUE(with == collective_time(shape, dgx_a100(), profile) ||
                with == nccl_time(shape, dgx_a100(), *other.nccl));
    return with != collective_time(shape, dgx_a100(), profile);
  };
  EXPECT_FALSE(changes(kAllReduce, 2) || changes(kAllToAll, 2) || changes(kAllReduce, 1)) << "every curve was fitted";
  for (auto& curve : profile.network.curves) curve.evidence.provenance = Provenance::kAssumed;
  EXPECT_TRUE(changes(kAllToAll, 2)) << "an all-reduce says nothing about an all-to-all";
  EXPECT_FALSE(changes(kAllGather, 2)) << "half of an all-reduce";
  EXPECT_FALSE(changes(kAllToAll, 1));
  for (auto& curve : profile.nvlink.curves) curve.evidence.provenance = Provenance::kScaled;
  EXPECT_TRUE(changes(kAllReduce, 1)) << "the curve is another GPU's";
}

TEST(NcclLaw, GroupsShareTheNicsOfTheirNode) {
  const NcclSystem system = system_of_rings();
  const NcclWire wire = nccl_wire(system.architecture, system.tuning);
  const auto network = [&](int groups) {
    const GroupShape group{.ranks = 4, .nodes = 4, .ranks_per_node = 1, .groups_per_node = groups};
    NodeLinks links = dgx_a100();
    links.nics = 4;  // for eight GPUs
    const Seconds time = nccl_time({kAllGather, Bytes(4e9), group}, links, system);
    return time.value() - wire.fitted.fill_between * std::sqrt(3e9);
  };
  EXPECT_NEAR(network(1), 3e9 / (32e9 * wire.pcie), 1e-12) << "a NIC behind PCIe";
  EXPECT_NEAR(network(8), 2 * network(1), 1e-12) << "two groups to a NIC";
}

}  // namespace
}  // namespace foretoken::cost
