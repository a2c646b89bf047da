// Flows by NCCL's choice beside every published table of 16 MiB and more.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "calibration/fit/check_collectives.h"
#include "calibration/fit/check_flows.h"

namespace foretoken::fit {
namespace {

struct Tally {
  int tables = 0, within = 0;
  std::vector<double> medians;
  double bound = 0;
  [[nodiscard]] double middle() {
    std::sort(medians.begin(), medians.end());
    return medians[(medians.size() - 1) / 2];
  }
  void add(const FlowCheck& check) {
    ++tables;
    within += check.within() ? 1 : 0;
    medians.push_back(check.median);
    bound = check.bound;
  }
};

// docs/collective-flows.md: 98 of 109 tables, and which are not.
TEST(NcclTables, FlowsFromSixteenMebibytesOn) {
  const auto tables = read_collective_tables(FORETOKEN_SOURCE_DIR "/calibration/measurements/collectives.json");
  const std::vector<FlowCheck> checks = check_flows(tables);
  std::map<std::pair<std::string, bool>, Tally> by_place;
  std::map<std::pair<std::string, std::string_view>, Tally> by_collective;
  for (const FlowCheck& check : checks) {
    by_place[{check.gpus, check.table->nodes > 1}].add(check);
    by_collective[{check.gpus, name_of_collective(*check.table)}].add(check);
  }
  ASSERT_EQ(by_place.size(), 6U);
  for (const auto& [gpus, across, least] : {std::tuple{"A100", false, 20},
                                            {"A100", true, 4},
                                            {"H100, H200", false, 20},
                                            {"H100, H200", true, 11},
                                            {"B200, B300, GB", false, 38},
                                            {"B200, B300, GB", true, 5}}) {
    Tally& tally = by_place.at({gpus, across});
    EXPECT_LE(tally.middle(), tally.bound) << gpus << (across ? " across nodes" : " in a node");
    EXPECT_GE(tally.within, least) << "of " << tally.tables << " " << gpus << (across ? " across nodes" : " in a node");
  }
  for (auto& [key, tally] : by_collective) {
    const auto& [gpus, collective] = key;
    const bool the_one_of_a100 = gpus == "A100" && collective == "send/recv";  // a single table of 195 GB/s
    EXPECT_LE(tally.middle(), the_one_of_a100 ? 0.14 : tally.bound) << gpus << " " << collective;
  }
}

}  // namespace
}  // namespace foretoken::fit
