// Tests NCCL's choice against vectors from another implementation, and its search against platforms from logs.
#include "sim/io/hardware/read_nccl.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

using cost::NcclAlgorithm;
using cost::NcclArchitecture;
using cost::NcclProtocol;
using nlohmann::json;

json vectors() {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/sim/io/testdata/nccl_choice.json");
  return json::parse(file);
}

NcclArchitecture architecture_of(const std::string& name) {
  return name == "volta"    ? NcclArchitecture::kVolta
         : name == "ampere" ? NcclArchitecture::kAmpere
         : name == "hopper" ? NcclArchitecture::kHopper
                            : NcclArchitecture::kBlackwell;
}

NcclAlgorithm algorithm_of(const std::string& name) {
  return name == "tree"        ? NcclAlgorithm::kTree
         : name == "ring"      ? NcclAlgorithm::kRing
         : name == "nvls"      ? NcclAlgorithm::kNvls
         : name == "nvls_tree" ? NcclAlgorithm::kNvlsTree
                               : NcclAlgorithm::kPat;
}

NcclProtocol protocol_of(const std::string& name) {
  return name == "ll" ? NcclProtocol::kLl : name == "ll128" ? NcclProtocol::kLl128 : NcclProtocol::kSimple;
}

CollectiveKind kind_of(const std::string& name) {
  return name == "all_reduce"       ? CollectiveKind::kAllReduce
         : name == "all_gather"     ? CollectiveKind::kAllGather
         : name == "reduce_scatter" ? CollectiveKind::kReduceScatter
                                    : CollectiveKind::kBroadcast;
}

cost::NcclPlatform platform_of(const json& graph) {
  cost::NcclPlatform platform;
  platform.architecture = architecture_of(graph.at("arch"));
  platform.amd_cpu = graph.at("cpu") == "amd";
  platform.nvlink = graph.at("intra") == "nvlink";
  platform.plain_tree = graph.value("tree_pattern_tree", false);
  platform.channels = graph.at("nChannels");
  for (const auto& [name, g] : graph.at("graphs").items())
    platform.graphs[algorithm_of(name)] = {g.at(0), g.at(1), g.at(2)};
  return platform;
}

TEST(NcclChoice, MatchesTheVectorsOfEveryVersion) {
  const json all = vectors();
  ASSERT_EQ(all.at("cases").size(), 15U);
  for (const json& c : all.at("cases")) {
    SCOPED_TRACE(c.at("nccl").get<std::string>() + " " + c.at("platform").get<std::string>());
    const cost::NcclTuning tuning = read_nccl_tuning(c.at("nccl").get<std::string>());
    const cost::NcclPlatform platform = platform_of(all.at("graphs").at(c.at("platform").get<std::string>()));
    const CollectiveKind kind = kind_of(c.at("collective"));
    const int ranks = c.at("ranks"), nodes = c.at("nodes");
    const auto options = cost::nccl_options(kind, ranks, nodes, platform, tuning);
    EXPECT_EQ(options.size(), c.at("table_lat_us_algbw_GBps").size());
    for (const auto& [name, expected] : c.at("table_lat_us_algbw_GBps").items()) {
      const auto slash = name.find('/');
      const auto algorithm = algorithm_of(name.substr(0, slash));
      const auto protocol = protocol_of(name.substr(slash + 1));
      const auto found = std::find_if(options.begin(), options.end(), [&](const cost::NcclOption& option) {
        return option.algorithm == algorithm && option.protocol == protocol;
      });
      ASSERT_NE(found, options.end()) << name;
      EXPECT_NEAR(found->latency_us / expected.at(0).get<double>(), 1, 1e-4) << name;
      EXPECT_NEAR(found->bandwidth / expected.at(1).get<double>(), 1, 1e-4) << name;
    }
    for (const json& e : c.at("expect")) {
      const auto choice = cost::nccl_choice(Bytes(e.at("bytes").get<double>()), kind, ranks, nodes, platform, tuning);
      EXPECT_EQ(choice.option.algorithm, algorithm_of(e.at("algo"))) << e;
      EXPECT_EQ(choice.option.protocol, protocol_of(e.at("proto"))) << e;
      EXPECT_NEAR(choice.time.value() * 1e6 / e.at("time_us").get<double>(), 1, 2e-4) << e;
    }
  }
}

struct Searched {
  const char* graph;
  double nvlink, pcie, nic;
  int nics, nodes, ranks_a_node;
};

TEST(NcclChoice, TheSearchFindsTheGraphsOfKnownPlatforms) {
  const json graphs = vectors().at("graphs");
  for (const Searched& s : {Searched{"dgx1_v100_1n", 150, 15.75, 12.5, 4, 1, 8},
                            {"dgx1_v100_4edr", 150, 15.75, 12.5, 4, 2, 8},
                            {"a100_nvswitch_1n", 300, 31, 25, 8, 1, 8},
                            {"a100_8hdr", 300, 31, 25, 8, 4, 8},
                            {"a100_4hdr", 300, 31, 25, 4, 2, 8},
                            {"a100_1gpu_per_node_hdr", 300, 31, 25, 8, 2, 1},
                            {"h100_nvswitch_1n", 450, 63, 50, 8, 1, 8},
                            {"h100_8ndr", 450, 63, 50, 8, 4, 8},
                            {"h100_1gpu_per_node_ndr", 450, 63, 50, 8, 2, 1},
                            {"b200_nvswitch_1n", 900, 63, 50, 8, 1, 8},
                            {"b200_8x400g", 900, 63, 50, 8, 2, 8}}) {
    SCOPED_TRACE(s.graph);
    const cost::NcclPlatform known = platform_of(graphs.at(s.graph));
    const NodeLinks links{.nvlink_per_gpu = gigabytes_per_second(s.nvlink),
                          .pcie_per_gpu = gigabytes_per_second(s.pcie),
                          .nic = gigabytes_per_second(s.nic),
                          .nics = s.nics,
                          .gpus = 8,
                          .oversubscription = 1,
                          .hop_latency = {}};
    const cost::NcclPlatform found = cost::nccl_platform(known.architecture, links, /*nvlink_switch=*/true, s.nodes,
                                                         s.ranks_a_node, read_nccl_tuning("2.28.9"));
    const cost::NcclGraph &ring = found.graphs.at(NcclAlgorithm::kRing),
                          &expected = known.graphs.at(NcclAlgorithm::kRing);
    EXPECT_EQ(ring.channels, expected.channels);
    EXPECT_DOUBLE_EQ(ring.inside, expected.inside);
    EXPECT_EQ(found.channels, known.channels);
    EXPECT_EQ(found.plain_tree, known.plain_tree);
    if (known.graphs.contains(NcclAlgorithm::kNvls)) {
      EXPECT_EQ(found.graphs.at(NcclAlgorithm::kNvls).channels, known.graphs.at(NcclAlgorithm::kNvls).channels);
      EXPECT_DOUBLE_EQ(found.graphs.at(NcclAlgorithm::kNvls).inside, known.graphs.at(NcclAlgorithm::kNvls).inside);
    }
  }
}

TEST(NcclChoice, VersionsAreTheNewestKnownReleaseThatIsNoNewer) {
  EXPECT_EQ(read_nccl_tuning("2.28.9").version, "2.28.9");
  EXPECT_EQ(read_nccl_tuning("2.27.3").version, "2.27.7") << "patches of a release leave the constants alone";
  EXPECT_EQ(read_nccl_tuning("2.18.5").version, "2.18.6");
  EXPECT_EQ(read_nccl_tuning("2.17.1").version, "2.16.5");
  EXPECT_EQ(read_nccl_tuning("3.0.0").version, read_nccl_tuning("").version);
  EXPECT_EQ(thrown_by([] { (void)read_nccl_tuning("2.1.0"); }),
            "NCCL: expected 2.8.4 or newer, found 2.1.0: no constants are known\n");
  EXPECT_EQ(thrown_by([] { (void)read_nccl_tuning("two"); }),
            "NCCL: expected a version such as 2.28.9, found \"two\"\n");
}

}  // namespace
}  // namespace foretoken::io
