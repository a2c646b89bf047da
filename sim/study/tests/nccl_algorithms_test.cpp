// Tests gradients as flows of the algorithm that NCCL chooses, on sound and on slow links.
#include <gtest/gtest.h>

#include <string>

#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using cost::NcclAlgorithm;

// Makes a GPT-2 whose gradients are reduced after all passes.
job::Job job(const std::string& cluster, int gpus, int tensor, int layers, const std::string& more = "") {
  return io::read_scenario_text(R"({"model": {"base": "gpt2-medium", "n_layer": )" + std::to_string(layers) +
                                    R"(}, "runtime": "megatron-core", "cluster": ")" + cluster + R"(", "gpus": )" +
                                    std::to_string(gpus) + R"(, "parallelism": {"tensor": )" + std::to_string(tensor) +
                                    R"(}, "batch": {"micro": 1, "global": )" + std::to_string(gpus) +
                                    R"(, "sequence_length": 1024})" + more + "}",
                                "test", {})
      .job;
}

constexpr How kFlows{.unfolded = true, .traffic = ranks::Traffic::kFlows};

std::int64_t flows_ps(const job::Job& scenario) { return predict(scenario, kFlows).run.makespan.ps; }

Bytes reduced_bytes(const Prediction& prediction) {
  for (const step::Communication& row : prediction.step.workload.communications)
    if (row.purpose == step::Purpose::kGradients) return row.payload;
  return {};
}

NcclAlgorithm choice_of(const Prediction& prediction, CollectiveKind kind) {
  const job::Job& scenario = prediction.job;
  const GroupShape group = scenario.grid().shape(net::kReplicaAxes, scenario.cluster.links.gpus);
  const cost::NcclSystem& nccl = scenario.profile.nccl.value();
  const cost::NcclPlatform platform = cost::nccl_platform(nccl.architecture, scenario.cluster.links, true, group.nodes,
                                                          group.ranks_per_node, nccl.tuning);
  return cost::nccl_choice(reduced_bytes(prediction), kind, group.ranks, group.nodes, platform, nccl.tuning)
      .option.algorithm;
}

// Returns the time for which the reduction moves bytes.
double moving_ps(const Prediction& prediction) {
  const job::Job& scenario = prediction.job;
  const auto& workload = prediction.step.workload;
  const GroupShape group = scenario.grid().shape(net::kReplicaAxes, scenario.cluster.links.gpus);
  const CollectiveKind kind =
      scenario.optimizer.zero_stage > 0 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const double latency =
      cost::collective_time({kind, Bytes(0), group}, scenario.cluster.links, scenario.profile).value();
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task)
    if (name_of(workload.meaning[task], workload) == "reduce gradients")
      return static_cast<double>(workload.graph.duration({task}).ps) -
             1e12 * latency * scenario.runtime.data_comm_factor;
  return 0;
}

TEST(NcclAlgorithms, TakeTheTimeOfTheCostOnSoundLinks) {
  struct Case {
    const char* cluster;
    int gpus, tensor, layers;
    NcclAlgorithm algorithm;
  };
  for (const Case& c :
       {Case{"dgx-a100-80gb-hdr", 32, 1, 24, NcclAlgorithm::kRing},
        Case{"dgx-a100-80gb-hdr", 512, 1, 2, NcclAlgorithm::kTree}, Case{"selene", 512, 2, 2, NcclAlgorithm::kTree},
        Case{"dgx-h100-ndr", 8, 1, 24, NcclAlgorithm::kNvls}, Case{"dgx-h100-ndr", 16, 2, 24, NcclAlgorithm::kNvlsTree},
        Case{"dgx-h100-ndr", 24, 1, 24, NcclAlgorithm::kNvlsTree},
        Case{"dgx-h100-ndr", 40, 1, 24, NcclAlgorithm::kNvlsTree},
        Case{"dgx-b200-ndr", 32, 1, 24, NcclAlgorithm::kNvlsTree},
        Case{"aws-p5", 16, 1, 24, NcclAlgorithm::kNvlsTree}}) {
    SCOPED_TRACE(testing::Message() << c.cluster << " " << c.gpus << " / " << c.tensor);
    const Prediction folded = predict(job(c.cluster, c.gpus, c.tensor, c.layers));
    EXPECT_EQ(name_of(choice_of(folded, CollectiveKind::kAllReduce)), name_of(c.algorithm));
    EXPECT_NEAR(static_cast<double>(flows_ps(folded.job)) / static_cast<double>(folded.run.makespan.ps), 1, 1e-6);
  }
}

// Over four nodes each node is an inner node of one tree and a leaf of the other. An inner node moves half of the bytes
// three times over its NICs. A root moves them only twice, so half of its NICs' rate is spare. A ring has no spare
// rate.
TEST(NcclAlgorithms, TreesSpareTheNicsOfTheirRoots) {
  const auto slow = [](const char* node, const char* more) {
    return job("dgx-h100-ndr", 32, 1, 24,
               std::string(R"(, "imperfections": {"slow_nics": [{"node": )") + node +
                   R"(, "nic": 3, "rate_factor": 0.5}]})" + more);
  };
  const Prediction trees = predict(job("dgx-h100-ndr", 32, 1, 24), kFlows);
  ASSERT_EQ(choice_of(trees, CollectiveKind::kAllReduce), NcclAlgorithm::kNvlsTree);
  const auto longer = [&](const char* node) {
    return static_cast<double>(flows_ps(slow(node, "")) - trees.run.makespan.ps);
  };
  const double moving = moving_ps(trees);
  EXPECT_NEAR(longer("0"), 0, 1e-6 * moving);
  EXPECT_NEAR(longer("1"), moving, 1e-6 * moving);
  EXPECT_NEAR(longer("2"), moving, 1e-6 * moving);
  EXPECT_NEAR(longer("3"), 0, 1e-6 * moving);
  constexpr const char* kSharded = R"(, "optimizer": {"zero_stage": 1}, "overlap": {"param_gather": true})";
  const Prediction rings = predict(job("dgx-h100-ndr", 32, 1, 24, kSharded), kFlows);
  ASSERT_EQ(choice_of(rings, CollectiveKind::kReduceScatter), NcclAlgorithm::kRing);
  for (const char* node : {"0", "2"})
    EXPECT_GE(static_cast<double>(flows_ps(slow(node, kSharded)) - rings.run.makespan.ps),
              (1 - 1e-6) * moving_ps(rings));
}

// The same holds for trees without NVLS, over 64 nodes.
TEST(NcclAlgorithms, TreesOfAnAmpereClusterSpareTheirRootsToo) {
  const auto with = [](const std::string& more) { return job("dgx-a100-80gb-hdr", 512, 1, 2, more); };
  const Prediction trees = predict(with(""), kFlows);
  ASSERT_EQ(choice_of(trees, CollectiveKind::kAllReduce), NcclAlgorithm::kTree);
  const auto longer = [&](const std::string& node) {
    const std::int64_t slow = flows_ps(
        with(R"(, "imperfections": {"slow_nics": [{"node": )" + node + R"(, "nic": 3, "rate_factor": 0.5}]})"));
    return static_cast<double>(slow - trees.run.makespan.ps);
  };
  const double moving = moving_ps(trees);
  EXPECT_NEAR(longer("0"), 0, 1e-6 * moving);
  EXPECT_NEAR(longer("2"), moving, 1e-6 * moving);
}

// The placement makes half of the ranks of a group send over the network instead of inside one node.
TEST(NcclAlgorithms, APlacementMovesTheirFlows) {
  std::string placement = "[";
  for (int rank = 0; rank < 16; ++rank)  // groups of eight ranks, every second on the other node
    placement += (rank > 0 ? ", " : "") + std::to_string(rank % 2 * 8 + rank / 2);
  const std::string pipeline = R"(, "imperfections": {"placement": )" + placement + "]}";
  const job::Job spread =
      io::read_scenario_text(
          R"({"model": {"base": "gpt2-medium", "tie_word_embeddings": false}, "runtime": "megatron-core",
          "cluster": "dgx-h100-ndr", "gpus": 16, "parallelism": {"pipeline": 2},
          "batch": {"micro": 1, "global": 64, "sequence_length": 1024})" +
              pipeline + "}",
          "test", {})
          .job;
  job::Job together = spread;
  together.imperfections = {};
  EXPECT_GT(flows_ps(spread), flows_ps(together));
}

}  // namespace
}  // namespace foretoken::study
