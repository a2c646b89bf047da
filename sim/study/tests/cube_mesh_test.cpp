// Tests that groups of a hybrid cube mesh take the times that were measured on one, whichever cables join them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/net/cables.h"

namespace foretoken::study {
namespace {

TEST(CubeMesh, AllReducesTakeTheMeasuredTimes) {
  struct Row {
    int ranks;
    double seconds;
  };
  // VIA-Research/vTrain f8dda84, trace/v100/AR_GPU{2,4,8}_1M_1024M_LUT, 1 GiB.
  for (const auto& [ranks, seconds] : {Row{2, 47610e-6}, Row{4, 18869e-6}, Row{8, 13969e-6}}) {
    const job::Job job =
        io::read_scenario_text(fmt::format(R"({{"model": "gpt-1.7b", "cluster": {{"base": "dgx-1-v100-32gb-edr",
                                             "measured_collectives": null}}, "gpus": 8, "precision": "fp16",
                                             "parallelism": {{"tensor": {}}},
                                             "batch": {{"global": 8, "sequence_length": 1024}}}})",
                                           ranks),
                               "scenario")
            .job;
    const net::RankGroups groups = job.grid().groups(AxisSet{Axis::kTensor});
    const CollectiveShape shape{CollectiveKind::kAllReduce,
                                Bytes(1 << 30),
                                {.ranks = ranks, .nodes = 1, .ranks_per_node = ranks, .groups_per_node = 8 / ranks}};
    const Seconds time = cost::collective_time(shape, net::collective_links(job.cluster, groups), job.profile);
    EXPECT_NEAR(time.value(), seconds, 0.02 * seconds) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace foretoken::study
