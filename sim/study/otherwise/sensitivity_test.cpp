// Tests rules of sensitivities: a higher rate never slows a step, and one GPU has no network.
#include "sim/study/otherwise/sensitivity.h"

#include <gtest/gtest.h>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

job::Job shipped(const std::string& name) {
  return io::read_scenario_file(std::string(FORETOKEN_SOURCE_DIR) + "/scenarios/" + name + ".json").job;
}

TEST(Sensitivities, BetterHardwareIsNeverSlowerAndTheBaseLiesBetween) {
  const job::Job job = shipped("gpt3-175b-1024-a100");
  const Seconds base = predict(job).metrics.step_time;
  for (const Sensitivity& each : sensitivities(job, 0.1)) {
    SCOPED_TRACE(each.name);
    const bool is_rate = each.name.find("rate") != each.name.npos || each.name.find("bandwidth") != each.name.npos;
    EXPECT_GE(is_rate ? each.smaller : each.larger, base);
    EXPECT_LE(is_rate ? each.larger : each.smaller, base);
  }
}

TEST(Sensitivities, TogetherTheyMoveNoMoreThanEverythingAtOnce) {
  // When all rates fall to nine tenths and all latencies rise as much, a step is at most 1 / 0.9 slower.
  double sum = 0;
  const job::Job job = shipped("gpt3-175b-1024-a100");
  const Seconds base = predict(job).metrics.step_time;
  for (const Sensitivity& each : sensitivities(job, 0.1)) {
    EXPECT_LE(each.smaller / base, 1 / 0.9 + 1e-9) << each.name;
    sum += each.swing() / base;
  }
  EXPECT_GT(sum, 0.15) << "most of a step is arithmetic, memory or links";
  EXPECT_LT(sum, 1 / 0.9 - 1 / 1.1 + 1e-3);
}

TEST(Sensitivities, OneNodeHasNoNetworkAndTheLargestSwingComesFirst) {
  const std::vector<Sensitivity> all = sensitivities(shipped("gpt-22b-8-a100-sp"), 0.2);
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].name.find("network"), all[i].name.npos);
    if (i > 0) {
      EXPECT_GE(all[i - 1].swing(), all[i].swing());
    }
  }
}

}  // namespace
}  // namespace foretoken::study
