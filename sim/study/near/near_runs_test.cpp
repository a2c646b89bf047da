// Tests that near runs are nearest first, by the distance of the interval.
#include "sim/study/near/near_runs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

std::string small_scenario(const std::string& cluster, int gpus, const std::string& more = "") {
  return fmt::format(
      R"({{"model": "gpt2-medium", "cluster": "{}", "gpus": {}, "batch": {{"micro": 1, "global": 16, "sequence_length": 256}}{}}})",
      cluster, gpus, more);
}

MeasuredRun measured_run(const std::string& id, const std::string& text) {
  return {.set = "set of " + id, .id = id, .source = "a paper", .scenario = text, .measured = Seconds(1)};
}

std::vector<std::string> ids_of(const std::vector<NearRun>& runs) {
  std::vector<std::string> all;
  for (const NearRun& each : runs) all.push_back(each.id);
  return all;
}

TEST(NearRuns, AnotherRuntimeIsFartherThanTwiceTheGpus) {
  const job::Job job = io::read_scenario_text(small_scenario("dgx-a100-80gb-hdr", 8), "test").job;
  const std::vector<MeasuredRun> measured{
      measured_run("other GPU and runtime", small_scenario("dgx-h100-ndr", 8, R"(, "runtime": "megatron-2022")")),
      measured_run("other runtime", small_scenario("dgx-a100-80gb-hdr", 8, R"(, "runtime": "megatron-2022")")),
      measured_run("twice the GPUs", small_scenario("dgx-a100-80gb-hdr", 16)),
      measured_run("the same", small_scenario("dgx-a100-80gb-hdr", 8)),
      measured_run("too far",
                   small_scenario("dgx-h100-ndr", 8, R"(, "runtime": "megatron-2022", "precision": "fp8")"))};
  const std::vector<NearRun> near = near_runs(job, measured, 10, {});
  EXPECT_THAT(ids_of(near),
              testing::ElementsAre("the same", "twice the GPUs", "other runtime", "other GPU and runtime"));
  EXPECT_EQ(near[0].distance, 0);
  EXPECT_EQ(near[1].distance, 0.5) << "twice the GPUs, and half the micro-batches";
  EXPECT_EQ(near[0].difference, "nothing important");
  EXPECT_EQ(near[0].predicted.value(), predict(job).metrics.step_time.value());
  EXPECT_THAT(ids_of(near_runs(job, measured, 1, {})), testing::ElementsAre("the same"));
}

TEST(NearRuns, DistancesCountWithTheWeightsOfIntervals) {
  const job::Job job = io::read_scenario_text(small_scenario("dgx-a100-80gb-hdr", 8), "test").job;
  const std::vector<MeasuredRun> measured{measured_run("twice the GPUs", small_scenario("dgx-a100-80gb-hdr", 16))};
  EXPECT_EQ(near_runs(job, measured, 1, {.doubling = 2}).front().distance, 4);
}

TEST(NearRuns, OneSetDoesNotSpeakForAll) {
  const job::Job job = io::read_scenario_text(small_scenario("dgx-a100-80gb-hdr", 8), "test").job;
  std::vector<MeasuredRun> measured(6, measured_run("same set", small_scenario("dgx-a100-80gb-hdr", 8)));
  measured.push_back(measured_run("another", small_scenario("dgx-a100-80gb-hdr", 16)));
  EXPECT_EQ(near_runs(job, measured, 10, {}).size(), 5U) << "four of the set, and one of the other set";
}

}  // namespace
}  // namespace foretoken::study
