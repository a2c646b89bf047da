// Tests steps without a barrier before the optimizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using testing::HasSubstr;

job::Made validated_job(std::vector<std::string> sets) {
  constexpr const char* kStep =
      R"({"model": {"model_type": "gpt2", "n_layer": 16, "n_embd": 2048, "n_head": 16, "n_positions": 1024,
                    "vocab_size": 32000, "tie_word_embeddings": false},
          "cluster": "dgx-a100-80gb-hdr", "gpus": 8, "schedule": "zb-h2", "precision": "fp16",
          "parallelism": {"pipeline": 8}, "batch": {"micro": 1, "global": 24, "sequence_length": 1024}})";
  return io::read_scenario_text(kStep, "t.json", sets);
}

Seconds validated_step(std::vector<std::string> sets) {
  return predict(validated_job(std::move(sets))).metrics.simulated_step_time;
}

TEST(PostValidation, NoStageWaitsForTheOthers) {
  for (const char* schedule : {"zb-h1", "zb-h2"}) {
    SCOPED_TRACE(schedule);
    const std::string set = std::string("schedule=") + schedule;
    const Prediction apart = predict(validated_job({set, "optimizer.post_validation=true"}));
    EXPECT_LT(apart.metrics.simulated_step_time, validated_step({set}));
    Seconds busiest;
    for (const observe::StageActivity& stage : apart.observations.stages)
      busiest = std::max(busiest, des::to_seconds(stage.busy));
    EXPECT_GE(apart.metrics.simulated_step_time, busiest) << "a step is no shorter than the work of a stage";
  }
}

TEST(PostValidation, ADeepEnoughZeroBubbleScheduleTakesItsWorkAlone) {
  const Prediction run = predict(validated_job({"batch.global=64", "optimizer.post_validation=true"}));
  Seconds busiest;
  for (const observe::StageActivity& stage : run.observations.stages)
    busiest = std::max(busiest, des::to_seconds(stage.busy));
  EXPECT_LT(run.metrics.simulated_step_time, 1.02 * busiest) << "messages and the update remain";
  EXPECT_LT(run.metrics.ideal_bubble_fraction, 0.01);
}

TEST(PostValidation, AllGpusAndKernelsGiveTheSameStep) {
  const job::Job job = validated_job({"optimizer.post_validation=true", "gpus=16"}).job;
  const Seconds folded = step_time(job, {});
  EXPECT_EQ(step_time(job, {.fidelity = step::Fidelity::kKernel}), folded);
  EXPECT_NEAR(step_time(job, {.unfolded = true}) / folded, 1, 0.02) << "flows share links";
}

TEST(PostValidation, WhereStagesWouldWaitItIsRefused) {
  const auto complaint = [](const char* set) {
    try {
      (void)validated_job({"optimizer.post_validation=true", set});
    } catch (const ConfigError& error) {
      return error.complaints().front().line();
    }
    return std::string();
  };
  EXPECT_EQ(complaint("name=t"), "");
  EXPECT_THAT(complaint("schedule=1f1b"), HasSubstr("expected false with the schedule 1f1b; try zb-h1 or zb-h2"));
  EXPECT_THAT(complaint("model.tie_word_embeddings=true"), HasSubstr("share the embedding; untie it"));
  EXPECT_THAT(complaint("optimizer.zero_stage=1"), HasSubstr("shards are gathered after the norm is known"));
  EXPECT_THAT(complaint("optimizer.post_validation=4"), HasSubstr("post_validation"));
}

}  // namespace
}  // namespace foretoken::study
