// Tests neighbours on one cluster, with jobs small enough for hand calculation.
#include "sim/study/share_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Makes a job with tensor 8 and pipeline 2 on two nodes of eight GPUs and NICs. A leaf of 24 ports has two nodes and
/// eight ports up, so its uplinks carry half of the rate of its NICs.
job::Job job(int microbatches = 1, const std::string& more = "") {
  return io::read_scenario_text(
             R"({"model": {"base": "gpt2-medium", "tie_word_embeddings": false}, "runtime": "megatron-2021", "precision": "fp16",
          "cluster": {"base": "dgx-a100-80gb-hdr",
                      "fabric": {"rail_optimized": false, "switch_radix": 24, "oversubscription": 2}},
          "gpus": 16, "parallelism": {"tensor": 8, "pipeline": 2},
          "batch": {"micro": 1, "global": )" +
                 std::to_string(microbatches) + R"(, "sequence_length": 1024})" + more + "}",
             "test", {})
      .job;
}

/// Puts a job on these nodes of the cluster.
PlacedJob placed_on(job::Job job, std::initializer_list<std::uint32_t> nodes) {
  PlacedJob placed{std::move(job), {}};
  for (const std::uint32_t node : nodes) placed.nodes.push_back({node});
  return placed;
}

/// Returns the time of the bytes of a message at the rate of its NIC, without latencies.
double transfer_ps() {
  job::Job scenario = job();
  scenario.cluster.links.oversubscription = 1;
  const step::Communication message =
      step::message_between(scenario, job::Parts(scenario), Stage{0}, Stage{1}, step::Purpose::kActivations);
  return 1e12 * (step::cost_of(message, scenario) - step::latency_of(message, scenario)).value();
}

std::int64_t ps(Seconds time) { return des::to_duration(time).ps; }

TEST(ShareCluster, TwoPairsThatCrossTheSameThinUplinksTakeTwiceAsLongForEveryMessage) {
  const SharedCluster found = share_cluster({placed_on(job(), {0, 2}), placed_on(job(), {1, 3})});
  ASSERT_EQ(found.jobs.size(), 2U);
  for (const SharedJob& one : found.jobs) {
    // Activations go there and gradients come back. Both jobs send at the same time: 16 NICs on uplinks for eight.
    EXPECT_NEAR(static_cast<double>(ps(one.shared) - ps(one.unshared)), 2 * transfer_ps(), 4);
    EXPECT_EQ(one.steps, 1);
  }
  ASSERT_EQ(found.links.size(), 4U) << "up from the sender's leaf and down to the receiver's, there and back";
  for (const SharedLink& link : found.links) {
    EXPECT_THAT(link.name, testing::MatchesRegex("(leaf [01] to spine 0|spine 0 to leaf [01])"));
    EXPECT_DOUBLE_EQ(link.capacity.value(), 200e9);
    EXPECT_THAT(link.jobs, ElementsAre(0, 1));
    EXPECT_NEAR(1e12 * link.full.value(), 2 * transfer_ps(), 4) << "one message of both jobs, at half the rate";
  }
}

TEST(ShareCluster, JobsUnderLeavesOfTheirOwnDoNotFeelEachOther) {
  const SharedCluster found = share_cluster({placed_on(job(3), {0, 1}), placed_on(job(4), {2, 3})});
  for (const SharedJob& one : found.jobs) EXPECT_EQ(ps(one.shared), ps(one.unshared));
  EXPECT_TRUE(found.links.empty());
  const Prediction unshared = predict(job(4), How{.unfolded = true});
  EXPECT_EQ(ps(found.jobs[1].unshared), unshared.run.makespan.ps) << "what simulate says of it";
  EXPECT_EQ(ps(found.simulated), ps(found.jobs[1].shared));
}

TEST(ShareCluster, WhatIsSlowStaysWithTheJobsOwnNodes) {
  const std::string slow = R"(, "imperfections": {"slow_gpus": [{"gpu": 9, "slowdown": 1.2}],
      "slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.5}]})";
  const SharedCluster found = share_cluster({placed_on(job(3), {0, 1}), placed_on(job(4, slow), {2, 3})});
  const Prediction unshared = predict(job(4, slow), How{.unfolded = true});
  EXPECT_EQ(ps(found.jobs[1].unshared), unshared.run.makespan.ps);
  EXPECT_EQ(ps(found.jobs[1].shared), unshared.run.makespan.ps);
  EXPECT_EQ(ps(found.jobs[0].shared), ps(found.jobs[0].unshared));
  EXPECT_GT(ps(found.jobs[1].unshared), ps(share_cluster({placed_on(job(4), {2, 3})}).jobs[0].unshared));
}

TEST(ShareCluster, ShortJobsRepeatTheirStepsUntilTheLongestHasEndedOne) {
  const SharedCluster found = share_cluster({placed_on(job(90), {0, 1}), placed_on(job(2), {2, 3})});
  const std::int64_t longest = ps(found.jobs[0].unshared), shortest = ps(found.jobs[1].unshared);
  EXPECT_EQ(found.jobs[0].steps, 1);
  EXPECT_EQ(found.jobs[1].steps, longest / shortest);
  EXPECT_GT(found.jobs[1].steps, 1);
  EXPECT_EQ(ps(found.jobs[1].shared), shortest);
}

TEST(ShareCluster, AShortNeighbourDisturbsALongStepAgainAndAgain) {
  const SharedCluster found = share_cluster({placed_on(job(90), {0, 2}), placed_on(job(1), {1, 3})});
  const SharedJob &longer = found.jobs[0], &shorter = found.jobs[1];
  EXPECT_GT(shorter.steps, 2);
  // At most, every message of the shorter job delays one of the longer job by its own time without neighbours.
  const std::int64_t lost = ps(longer.shared) - ps(longer.unshared);
  EXPECT_GT(lost, 0);
  EXPECT_LE(static_cast<double>(lost), 2 * (shorter.steps + 1) * transfer_ps());
  EXPECT_GT(found.links.front().full.value(), 0);
}

TEST(ShareCluster, TheOrderOfTheJobsDoesNotShow) {
  const std::string slow_gpu = R"(, "imperfections": {"slow_gpus": [{"gpu": 3, "slowdown": 1.3}]})";
  const SharedCluster there =
      share_cluster({placed_on(job(5), {0, 2}), placed_on(job(3, slow_gpu), {3, 1}), placed_on(job(2), {4, 5})});
  const SharedCluster back =
      share_cluster({placed_on(job(2), {4, 5}), placed_on(job(3, slow_gpu), {3, 1}), placed_on(job(5), {0, 2})});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ps(there.jobs[i].shared), ps(back.jobs[2 - i].shared));
    EXPECT_EQ(ps(there.jobs[i].unshared), ps(back.jobs[2 - i].unshared));
    EXPECT_EQ(there.jobs[i].steps, back.jobs[2 - i].steps);
  }
  ASSERT_EQ(there.links.size(), back.links.size());
  double time = 0;
  for (std::size_t i = 0; i < there.links.size(); ++i) time += there.links[i].full.value() - back.links[i].full.value();
  EXPECT_NEAR(time, 0, 1e-15);
}

TEST(ShareCluster, StepsOfVeryDifferentLengthAreRefused) {
  try {
    (void)share_cluster({placed_on(job(4000), {0, 1}), placed_on(job(1), {2, 3})});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than 100 times as long"));
  }
}

}  // namespace
}  // namespace foretoken::study
