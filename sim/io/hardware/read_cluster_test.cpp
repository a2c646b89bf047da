// Tests reading clusters and GPUs: nodes, racks that share NVLink, nodes without it, and wrong files.
#include "sim/io/hardware/read_cluster.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

const char* const kCluster = R"({
  "name": "toy", "source": "made up",
  "gpu": {"name": "toy-gpu", "architecture": "ampere", "peak_tflops": {"fp16": 312, "bf16": 312}, "sms": 108,
          "memory_bytes": 85899345920, "memory_bandwidth_gb_per_s": 2039, "tdp_watts": 400},
  "node": {"gpus": 8, "nvlink": {"fabric": "nvswitch", "gb_per_s_per_gpu": 300, "domain_gpus": 8},
           "pcie_gb_per_s": 32, "nics": {"count": 8, "gb_per_s": 25}},
  "fabric": {"kind": "fat-tree", "rail_optimized": true, "oversubscription": 2, "hop_latency_us": 0.6},
  "price_per_gpu_hour": null
})";

std::string cluster_text(const char* patch) {
  nlohmann::json value = nlohmann::json::parse(kCluster);
  value.merge_patch(nlohmann::json::parse(patch));
  return value.dump();
}

net::Cluster cluster_with(const char* patch) {
  net::Cluster cluster;
  EXPECT_EQ(complaints_of(cluster_text(patch), [&](const Node& root) { cluster = read_cluster(root); }), "");
  return cluster;
}

TEST(ReadCluster, OneNodeIsOneNvlinkDomain) {
  const net::Cluster cluster = cluster_with("{}");
  EXPECT_EQ(cluster.gpus_per_node, 8);
  EXPECT_EQ(cluster.links.gpus, 8);
  EXPECT_EQ(cluster.links.nics, 8);
  EXPECT_EQ(cluster.links.nvlink_per_gpu, gigabytes_per_second(300));
  EXPECT_EQ(cluster.links.nics_total(), gigabytes_per_second(200));
  EXPECT_EQ(cluster.links.oversubscription, 2);
  EXPECT_EQ(cluster.links.hop_latency, microseconds(0.6));
  EXPECT_FALSE(cluster.price_per_gpu_hour);
  EXPECT_EQ(cluster.gpu.peak_of(Precision::kBf16), teraflops(312));
  EXPECT_FALSE(cluster.gpu.peak_of(Precision::kFp8));
}

TEST(ReadCluster, ARackSharesNvlinkAndCountsItsTraysNics) {
  const net::Cluster rack =
      cluster_with(R"({"node": {"gpus": 4, "nvlink": {"domain_gpus": 72}, "nics": {"count": 4}}})");
  EXPECT_EQ(rack.gpus_per_node, 4);
  EXPECT_EQ(rack.links.gpus, 72);
  EXPECT_EQ(rack.links.nics, 72);
}

TEST(ReadCluster, AJobOfSeveralRacksTakesASegmentOfEach) {
  const net::Cluster rack =
      cluster_with(R"({"node": {"gpus": 4, "nvlink": {"domain_gpus": 72, "segment_gpus": 64}, "nics": {"count": 4}}})");
  for (const auto& [gpus, domain] :
       std::map<int, int>{{64, 72}, {72, 72}, {100, 72}, {128, 64}, {144, 72}, {576, 72}}) {
    const net::Cluster placed = net::as_placed(rack, gpus, 8);
    EXPECT_EQ(placed.links.gpus, domain) << gpus;
    EXPECT_EQ(placed.links.nics, domain) << gpus;
    EXPECT_EQ(net::in_whole_domains(placed).links.gpus, 72);
    for (const int ranks : {9, 16, 72}) EXPECT_TRUE(net::domains_hold(placed, ranks)) << ranks << " of " << domain;
    EXPECT_FALSE(net::domains_hold(placed, 5));
    EXPECT_EQ(net::as_placed(placed, 72, 8).links.nics, 72);
  }
  EXPECT_EQ(net::as_placed(rack, 576, 64).links.gpus, 64) << "groups of 64 ranks fit in no whole rack without a rest";
  EXPECT_EQ(net::as_placed(rack, 576, 72).links.gpus, 72);
  const auto segment_of = [](const std::string& keys) {
    const net::Cluster read = cluster_with((R"({"node": {"gpus": 4, "nvlink": {)" + keys + "}}}").c_str());
    return read.segment ? read.segment->gpus : 0;
  };
  EXPECT_EQ(segment_of(R"("domain_gpus": 72)"), 64);
  EXPECT_EQ(segment_of(R"("domain_gpus": 36)"), 32);
  EXPECT_EQ(segment_of(R"("domain_gpus": 128)"), 0) << "a whole domain is a power of two";
  EXPECT_EQ(segment_of(R"("domain_gpus": 72, "segment_gpus": 36)"), 36);
  EXPECT_EQ(segment_of(R"("domain_gpus": 36, "segment_gpus": 64)"), 0);
  EXPECT_FALSE(cluster_with("{}").segment) << "a node is no rack";
}

TEST(ReadCluster, WithoutNvlinkTheNodeTalksOverPcie) {
  const net::Cluster cluster = cluster_with(R"({"node": {"nvlink": null}})");
  EXPECT_EQ(cluster.nvlink_fabric, "none");
  EXPECT_EQ(cluster.links.nvlink_per_gpu, BytesPerSecond(0));
  EXPECT_EQ(cluster.links.gpus, 8);
}

// A rack without peer access is a set of nodes that talk over PCIe inside and over their own NICs outside.
TEST(ReadCluster, WithoutPeerAccessTheNodeTalksOverPcie) {
  const net::Cluster cluster =
      cluster_with(R"({"node": {"gpus": 4, "nvlink": {"domain_gpus": 72}, "nics": {"count": 4}, "p2p": false}})");
  EXPECT_FALSE(cluster.peer_to_peer);
  EXPECT_EQ(cluster.nvlink_fabric, "none");
  EXPECT_EQ(cluster.links.nvlink_per_gpu, BytesPerSecond(0));
  EXPECT_EQ(cluster.links.gpus, 4);
  EXPECT_EQ(cluster.links.nics, 4);
  EXPECT_TRUE(cluster_with("{}").peer_to_peer);
}

TEST(ReadCluster, GpusMayHaveALowerPowerLimit) {
  EXPECT_FALSE(cluster_with("{}").power_limit_watts);
  EXPECT_EQ(cluster_with(R"({"node": {"power_limit_watts": 300}})").power_limit_watts, 300);
}

TEST(ReadCluster, ANodeWithoutNicsNeedsNoNetwork) {
  const net::Cluster cluster = cluster_with(R"({"node": {"nics": null}, "fabric": null})");
  EXPECT_EQ(cluster.links.nics, 0);
  EXPECT_EQ(cluster.fabric_kind, "none");
}

TEST(ReadCluster, WhatHangsWhereIsReadAsStated) {
  const net::Cluster cluster = cluster_with(R"({"node": {"gpus": 2, "nics": {"count": 1},
      "nvlink": {"fabric": "bridge", "domain_gpus": 2, "cables": [[0, 1, 12]]},
      "sockets": [{"gpus": [1]}, {"switches": [{"gpus": [0], "nics": [0]}]}]}})");
  EXPECT_EQ(cluster.wiring.cables, (std::vector<net::NvlinkCables>{{0, 1, 12}}));
  EXPECT_EQ(cluster.wiring.sockets, (std::vector<net::PcieTree>{{{1}, {}, {}}, {{}, {}, {{{0}, {0}, {}}}}}));
  EXPECT_EQ(net::nearest_nics(cluster.wiring.sockets, 2), (std::vector<std::vector<int>>{{0}, {0}}));
}

struct WrongCluster {
  const char* name;
  const char* patch;
  const char* complaint;
};

const WrongCluster kWrongClusters[] = {
    {"no GPU", R"({"gpu": null})", "/gpu: missing; expected the name of a GPU, a path or an object"},
    {"GPU is a number", R"({"gpu": 100})", "/gpu: expected the name of a GPU, a path or an object, found 100"},
    {"no peak", R"({"gpu": {"peak_tflops": {"fp16": null, "bf16": null}}})",
     "/gpu/peak_tflops: expected at least one of fp16, bf16, fp8, fp32: dense TFLOP/s, without sparsity"},
    {"sparse label", R"({"gpu": {"peak_tflops": {"bf16_sparse": 624}}})",
     "/gpu/peak_tflops/bf16_sparse: unknown key; known here: fp32, tf32, fp16, bf16, fp8, fp8_block, nvfp4, int8"},
    {"memory in gigabytes", R"({"gpu": {"memory_bytes": 80}})",
     "/gpu/memory_bytes: expected a whole number of at least 1048576, found 80"},
    {"bandwidth in bytes", R"({"node": {"pcie_gb_per_s": 32e9}})",
     "/node/pcie_gb_per_s: expected a number from 0.001 to 1000000, found 32000000000"},
    {"zero GPUs", R"({"node": {"gpus": 0}})", "/node/gpus: expected a whole number from 1 to 65536, found 0"},
    {"zero GPUs with cables",
     R"({"node": {"gpus": 0, "nvlink": {"fabric": "mesh", "cables": [[0, 1, 2], [1, 2, 2]]}}})",
     "/node/gpus: expected a whole number from 1 to 65536, found 0"},
    {"domain is no multiple", R"({"node": {"nvlink": {"domain_gpus": 12}}})",
     "/node/nvlink/domain_gpus: expected a multiple of the node's 8 GPUs, found 12"},
    {"segment is no multiple", R"({"node": {"nvlink": {"segment_gpus": 12}}})",
     "/node/nvlink/segment_gpus: expected a multiple of the node's 8 GPUs, found 12"},
    {"domain is no number", R"({"node": {"nvlink": {"domain_gpus": "all"}}})",
     "/node/nvlink/domain_gpus: expected a whole number from 1 to 65536, found a string \"all\""},
    {"segment is no number", R"({"node": {"nvlink": {"segment_gpus": []}}})",
     "/node/nvlink/segment_gpus: expected a whole number from 1 to 65536, found an empty array"},
    {"bridges between nodes", R"({"node": {"nvlink": {"fabric": "bridge", "domain_gpus": 16}}})",
     "/node/nvlink/domain_gpus: expected the node's 8 GPUs: only an NVLink switch joins several nodes, found 16"},
    {"a cube mesh of two nodes", R"({"node": {"nvlink": {"fabric": "hybrid-cube-mesh", "domain_gpus": 16}}})",
     "/node/nvlink/domain_gpus: expected the node's 8 GPUs: only an NVLink switch joins several nodes, found 16"},
    {"fabric of NVLink", R"({"node": {"nvlink": {"fabric": "nvswich"}}})",
     "/node/nvlink/fabric: expected \"nvswitch\", \"hybrid-cube-mesh\", \"bridge\" or \"mesh\", found "
     "\"nvswich\"; did you mean \"nvswitch\"?"},
    {"a mesh without cables", R"({"node": {"nvlink": {"fabric": "mesh"}}})",
     "/node/nvlink/cables: missing; expected [GPU, GPU, number of cables] of every pair in the mesh"},
    {"a cable too many", R"({"node": {"nvlink": {"fabric": "mesh", "cables": [[0, 1, 2], [1, 0, 2]]}}})",
     "/node/nvlink/cables/1: expected every pair of two GPUs once, found GPUs 1 and 0"},
    {"a switch needs no cables", R"({"node": {"nvlink": {"cables": [[0, 1, 2]]}}})",
     "/node/nvlink/cables: expected none: an NVLink switch joins all GPUs"},
    {"a cube mesh of four", R"({"node": {"gpus": 4, "nvlink": {"fabric": "hybrid-cube-mesh", "domain_gpus": 4}}})",
     "/node/nvlink/fabric: a hybrid cube mesh joins 8 GPUs, this one 4; state its cables"},
    {"a GPU in no slot",
     R"({"node": {"sockets": [{"gpus": [0, 1, 2, 3, 4, 5, 7], "nics": [0, 1, 2, 3, 4, 5, 6, 7]}]}})",
     "/node/sockets: expected every GPU of the node once, GPU 6 is missing"},
    {"a NIC in two slots",
     R"({"node": {"nics": {"count": 1}, "sockets": [{"gpus": [0, 1, 2, 3, 4, 5, 6, 7], "nics": [0], "switches": [{"nics": [0]}]}]}})",
     "/node/sockets/0/switches/0/nics/0: expected every number once, found 0 again"},
    {"a limit above the board's", R"({"node": {"power_limit_watts": 500}})",
     "/node/power_limit_watts: expected at most 400, the board limit of GPU \"toy-gpu\", found 500"},
    {"a limit of an unknown board", R"({"gpu": {"tdp_watts": null}, "node": {"power_limit_watts": 500}})",
     "/node/power_limit_watts: expected none: GPU \"toy-gpu\" states no tdp_watts to compare with"},
    {"oversubscription below 1", R"({"fabric": {"oversubscription": 0.5}})",
     "/fabric/oversubscription: expected a number from 1 to 1000, found 0.5"},
    {"negative latency", R"({"fabric": {"hop_latency_us": -1}})",
     "/fabric/hop_latency_us: expected a number from 0 to 1000000, found -1"},
    {"misspelt", R"({"fabrik": {}})", "/fabrik: unknown key; did you mean \"fabric\"?"},
    {"no node", R"({"node": null})", "/node: missing; expected an object"}};

TEST(ReadCluster, WrongClusters) {
  for (const WrongCluster& c : kWrongClusters) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(complaints_of(cluster_text(c.patch), [](const Node& root) { (void)read_cluster(root); }),
              std::string("t.json: ") + c.complaint + "\n");
  }
}

}  // namespace
}  // namespace foretoken::io
