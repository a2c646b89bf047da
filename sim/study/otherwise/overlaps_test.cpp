// Tests which overlaps are said to cost more than they hide.
#include "sim/study/otherwise/overlaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

// DeepSpeed with ZeRO 1 gathers parameters beside short forward passes.
job::Job gathering(bool overlaps) {
  return io::read_scenario_text(std::string(R"({"model": "gpt-7.5b", "cluster": "selene", "gpus": 16,
      "runtime": "deepspeed-zero3-2021", "optimizer": {"zero_stage": 1}, "recompute": "full",
      "batch": {"micro": 1, "global": 64, "sequence_length": 512},
      "overlap": {"grad_reduce": false, "param_gather": )") +
                                    (overlaps ? "true" : "false") + "}}",
                                "test", {})
      .job;
}

Seconds plain_step(const job::Job& job) { return predict(job).metrics.step_time; }

TEST(Overlaps, OneThatCostsMoreThanItHidesIsNamedWithTheStepWithoutIt) {
  constexpr double kBias = 1.5;
  const job::Job job = gathering(true);
  const Seconds step = kBias * plain_step(job), without = kBias * plain_step(gathering(false));
  ASSERT_LT(without, step);
  const std::vector<CostlyOverlap> costly = costly_overlaps(job, step, kBias);
  ASSERT_EQ(costly.size(), 1U);
  EXPECT_EQ(costly.front().key, job::Key::kParamGather);
  EXPECT_EQ(costly.front().without.value(), without.value());
}

TEST(Overlaps, OneThatIsOffOrGainsIsNotNamed) {
  const job::Job off = gathering(false);
  EXPECT_TRUE(costly_overlaps(off, plain_step(off), 1).empty());
  const job::Job gains = io::read_scenario_text(R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 64,
      "parallelism": {"tensor": 2}, "optimizer": {"zero_stage": 1},
      "batch": {"micro": 1, "global": 64, "sequence_length": 512},
      "overlap": {"grad_reduce": true, "param_gather": true}})",
                                                "test", {})
                             .job;
  EXPECT_TRUE(costly_overlaps(gains, plain_step(gains), 1).empty());
}

TEST(Overlaps, AreWordedWithTheOverrideThatLeavesThemOut) {
  EXPECT_EQ(costly_words({job::Key::kParamGather, Seconds(1.5)}, Seconds(2)),
            "overlap.param_gather costs more than it hides: without it the step takes 1.500 s, 25.0 % less; try --set "
            "overlap.param_gather=false");
}

}  // namespace
}  // namespace foretoken::study
