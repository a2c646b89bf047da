// Tests steps of schedules without a flush: fidelities, the fold, the parts of a step, its length and its memory.
#include <gtest/gtest.h>

#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/observe/stage_times.h"
#include "sim/report/json.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

job::Job job_of(const std::string& schedule, const std::string& more = "") {
  return io::read_scenario_text(
             R"({"model": {"base": "gpt2-medium"}, "cluster": "dgx-a100-80gb-hdr", "gpus": 16, "schedule": ")" +
                 schedule + R"(", "parallelism": {"tensor": 2, "pipeline": 4}, "batch": {"global": 16,
                 "sequence_length": 1024})" +
                 more + "}",
             "test", {})
      .job;
}

constexpr const char* kSchedules[] = {"pipedream", "pipedream-2bw", "pipemare"};

TEST(WithoutFlush, FidelitiesAndTheFoldAgree) {
  for (const char* name : kSchedules)
    for (const char* more : {"", R"(, "overlap": {"grad_reduce": true})"}) {
      SCOPED_TRACE(std::string(name) + more);
      const job::Job job = job_of(name, more);
      const Prediction stage = predict(job);
      const Prediction kernel = predict(job, How{.fidelity = step::Fidelity::kKernel});
      const Prediction every = predict(job, How{.unfolded = true, .traffic = ranks::Traffic::kAnalytic});
      EXPECT_EQ(stage.observations.makespan, kernel.observations.makespan);
      EXPECT_EQ(stage.run.makespan, kernel.run.makespan);
      EXPECT_EQ(stage.observations.makespan, every.observations.makespan);
      EXPECT_EQ(des::to_seconds(stage.observations.makespan), step_time(job, How{}));
    }
}

// The pipeline settles before it is measured, also where a step has fewer micro-batches than the pipeline has stages.
TEST(WithoutFlush, FewMicrobatchesTakeAsLongEachAsMany) {
  const auto each = [](int microbatches) {
    const std::string batch = std::to_string(microbatches);
    const job::Job job = io::read_scenario_text(
                             R"({"model": "gpt3-40b", "cluster": "dgx-a100-80gb-4hdr", "gpus": 16, "schedule":
                             "pipedream", "parallelism": {"tensor": 4, "pipeline": 4},
                             "batch": {"micro": 1, "global": )" +
                                 batch + R"(, "sequence_length": 128}})",
                             "test", {})
                             .job;
    return step_time(job, How{}) / microbatches;
  };
  for (const int microbatches : {1, 2, 4, 8}) EXPECT_NEAR(each(microbatches) / each(64), 1, 1e-3) << microbatches;
}

TEST(WithoutFlush, ThePartsOfAStepAddUp) {
  for (const char* name : kSchedules) {
    SCOPED_TRACE(name);
    const Prediction prediction = predict(job_of(name));
    const observe::StageSplit& split = prediction.observations.busiest;
    des::Duration sum = split.compute + split.optimizer + split.bubble + split.host + split.other;
    for (const auto& [axis, axis_name] : kAxisNames) sum += split.comm[axis];
    EXPECT_EQ(sum, prediction.observations.makespan);
    EXPECT_GE(split.bubble.ps, 0);
    EXPECT_GT(split.optimizer.ps, 0);
    EXPECT_GE(prediction.metrics.bubble_fraction, 0);
    EXPECT_EQ(prediction.metrics.ideal_bubble_fraction, 0);
    const auto& pipeline = prediction.observations.stages;
    EXPECT_LE(pipeline[prediction.observations.busiest_stage].busy, prediction.observations.makespan);
  }
}

// The pipeline is never drained, so a step is shorter than that of 1F1B. PipeDream pays an update a micro-batch.
TEST(WithoutFlush, AStepIsShorterThanWithAFlush) {
  const auto step = [](const char* name) { return step_time(job_of(name), How{}); };
  EXPECT_LT(step("pipedream-2bw"), step("1f1b"));
  EXPECT_LT(step("pipemare"), step("1f1b"));
  EXPECT_LT(step("pipedream-2bw"), step("pipedream"));
}

TEST(WithoutFlush, MemoryHoldsTheVersionsOfTheWeights) {
  const Prediction flushed = predict(job_of("1f1b"));
  for (const char* name : kSchedules) {
    SCOPED_TRACE(name);
    const Prediction prediction = predict(job_of(name));
    const auto& with = prediction.metrics.memory.per_stage;
    const auto& without = flushed.metrics.memory.per_stage;
    for (const Stage stage : with.ids()) {
      const int versions = name == std::string("pipedream")  ? 4 - stage.number()
                           : name == std::string("pipemare") ? 1
                                                             : 2;
      EXPECT_EQ(prediction.metrics.weights->kept[stage], versions);
      EXPECT_NEAR(with[stage].weights / without[stage].weights, versions, 1e-9);
      EXPECT_EQ(with[stage].activations, without[stage].activations);
      if (name == std::string("pipemare")) {
        EXPECT_GT(with[stage].optimizer, without[stage].optimizer);
      } else {
        EXPECT_EQ(with[stage].optimizer, without[stage].optimizer);
      }
    }
  }
  EXPECT_NE(report::to_json(predict(job_of("pipedream")).metrics).find(R"("kept":[4,3,2,1],"staleness":[3,2,1,0])"),
            std::string::npos);
}

TEST(WithoutFlush, ShardedStatesAreRefused) {
  try {
    (void)job_of("pipedream-2bw", R"(, "optimizer": {"zero_stage": 1})");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "test: /optimizer/zero_stage: expected 0 with the schedule pipedream-2bw, which updates its weights "
                 "while the pipeline runs, found 1; try optimizer.zero_stage 0");
  }
}

}  // namespace
}  // namespace foretoken::study
