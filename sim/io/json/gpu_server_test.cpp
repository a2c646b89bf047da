#include "sim/io/json/gpu_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/hardware/read_cluster.h"

namespace foretoken::io {
namespace {

TEST(GpuServer, EveryCardIsAServerOfEightBehindPcie) {
  int cards = 0;
  for (const std::string& name : list_names(kGpus)) {
    Findings findings;
    const auto document = gpu_server(name, findings);
    ASSERT_TRUE(findings.complaints.empty()) << name;
    if (!document) continue;
    ++cards;
    const net::Cluster cluster = read_cluster(document->root(findings));
    EXPECT_TRUE(findings.complaints.empty()) << name;
    EXPECT_EQ(cluster.name, name);
    EXPECT_EQ(cluster.gpu.name, name);
    EXPECT_EQ(cluster.gpus_per_node, 8);
    EXPECT_EQ(cluster.links.pcie_per_gpu.value(), cluster.gpu.pcie->value());
    EXPECT_EQ(cluster.links.nvlink_per_gpu.value(), 0);
    EXPECT_EQ(cluster.links.nics, 0);
  }
  EXPECT_EQ(cards, 21);
}

TEST(GpuServer, AModuleOfABoardIsNoServer) {
  Findings findings;
  for (const char* name : {"h100-sxm5-80gb", "gh200-96gb", "gb200-186gb", "no-such-gpu", ""})
    EXPECT_FALSE(gpu_server(name, findings)) << name;
  EXPECT_TRUE(findings.complaints.empty());
}

TEST(GpuServer, AReferenceToACardIsItsServerAndCapitalsDoNotMatter) {
  const nlohmann::json scenario = {{"cluster", "RTX4090-24GB"}};
  const Source source{.file = "s.json"};
  Findings findings;
  const Node root(scenario, source, findings);
  const auto document = open_reference(root.child("cluster"), kClusters);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->value["name"], "rtx4090-24gb");
}

TEST(GpuServer, ComplaintsNameTheClustersWithAGpu) {
  EXPECT_THAT(unknown_cluster("h200-sxm5-141gb"),
              testing::AllOf(testing::StartsWith("\"h200-sxm5-141gb\" is a GPU, not a cluster; clusters with it: "),
                             testing::HasSubstr("hgx-h200-ndr")));
  EXPECT_EQ(unknown_cluster("h20-96gb"),
            "\"h20-96gb\" is a GPU, not a cluster; no shipped cluster has it: name one and replace its GPU, "
            "{\"base\": \"dgx-h100-ndr\", \"gpu\": \"h20-96gb\"}");
  EXPECT_EQ(unknown_cluster("RTX4090"), "unknown cluster \"RTX4090\"; did you mean \"rtx4090-24gb\"?");
  EXPECT_THAT(
      unknown_cluster("H100"),
      testing::AllOf(testing::StartsWith("unknown cluster \"H100\"; with that GPU there are "),
                     testing::HasSubstr("azure-ndv5-h100"), testing::EndsWith(" more (foretoken clusters list)")));
  EXPECT_EQ(unknown_cluster("dgx-a100-hdr"), "unknown cluster \"dgx-a100-hdr\"; did you mean \"dgx-a100-40gb-hdr\"?");
  EXPECT_THAT(unknown_cluster("dgx-h1000"), testing::StartsWith("unknown cluster \"dgx-h1000\""));
}

}  // namespace
}  // namespace foretoken::io
