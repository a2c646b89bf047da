// Tests what an import says about nodes and GPUs that are others than the cluster's.
#include "sim/io/import/launch/nodes_of_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

std::string note_on(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
  return found == report.assumed.end() ? "" : found->because;
}

struct NodeCase {
  const char *name, *counts;
  bool noted;
};
constexpr NodeCase kNodes[] = {{"nodes of the cluster", "--nproc_per_node 8 --nnodes 2", false},
                               {"more ranks than GPUs", "--nproc_per_node 16 --nnodes 2", true},
                               {"more ranks, one node", "--nproc_per_node 16", true},
                               {"fewer ranks on several nodes", "--nproc_per_node 4 --nnodes 2", true},
                               {"a part of one node", "--nproc_per_node 4", false}};

TEST(NodesOfCluster, RanksOfOtherNodesAreNoted) {
  for (const auto& [name, counts, noted] : kNodes) {
    SCOPED_TRACE(name);
    const Report report = read_test_launch("torchrun " + std::string(counts) +
                                               " pretrain_gpt.py --num-layers 2 --hidden-size 64 "
                                               "--num-attention-heads 4 --seq-length 128 --micro-batch-size 1\n",
                                           "run.sh");
    EXPECT_EQ(!note_on(report, "ranks of a node").empty(), noted);
  }
}

TEST(NodesOfCluster, ARowOfAnotherGpuIsNoted) {
  const auto read = [](const std::string& system) {
    return note_on(read_test_launch("task,model,size,system,num_gpus,mbs,gbs,tp_size,dtype\npre_train,llama3,70b," +
                                        system + ",64,1,128,4,bf16",
                                    "runs.csv"),
                   "GPU");
  };
  EXPECT_EQ(read("h100"), "");
  EXPECT_EQ(read("H100"), "");
  EXPECT_EQ(read("b200"), "the launch is of b200; dgx-h100-ndr has h100-sxm5-80gb");
}

}  // namespace
}  // namespace foretoken::io::launch
