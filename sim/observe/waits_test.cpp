// Tests the choice of the rank to show when slow hardware holds up a run.
#include "sim/observe/waits.h"

#include <gtest/gtest.h>

namespace foretoken::observe {
namespace {

struct Shown {
  const char* name;
  std::map<int, int> waits;  ///< by stage rank
  int rank;
};

// Two tensor ranks times three replicas: stage ranks 0 and 1, 2 and 3, 4 and 5. Without tasks all ranks end at once.
const Shown kShown[] = {{"the path waits for nothing: the rank that ends last, the lowest on a tie", {}, 0},
                        {"nor for a GPU that holds it for no time", {{3, 0}}, 0},
                        {"the only one", {{3, 7}}, 3},
                        {"the longest", {{1, 6}, {5, 7}}, 5},
                        {"two of a replica hold it longer than one of another", {{1, 6}, {4, 3}, {5, 4}}, 5},
                        {"a tie of replicas", {{2, 7}, {4, 7}}, 2},
                        {"a tie within a replica", {{4, 7}, {5, 7}}, 4}};

TEST(RankToShow, IsInTheReplicaThatHoldsTheCriticalPathLongest) {
  ranks::UnfoldedStep unfolded;
  unfolded.ranks = ranks::StageRanks(net::RankGrid(PerAxis<int>(1, {{Axis::kTensor, 2}, {Axis::kData, 3}})));
  for (const Shown& each : kShown) {
    SCOPED_TRACE(each.name);
    Waits waits;
    for (const auto& [rank, time] : each.waits) waits.by_stage_rank[id_of<StageRank>(rank)] = des::Duration{time};
    EXPECT_EQ(rank_to_show(waits, unfolded, {}).number(), each.rank);
  }
}

}  // namespace
}  // namespace foretoken::observe
