// Tests evaluation steps against closed forms.
#include "sim/step/forward_only.h"

#include <gtest/gtest.h>

#include "sim/des/engine.h"
#include "sim/schedule/catalogue.h"
#include "sim/step/lower.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

job::Job evaluated(int pipeline, int microbatches) {
  job::Job s = test_job(8, 2048);
  s.gpus = pipeline;
  s.parallelism.pipeline = pipeline;
  s.batch = {.micro = 1, .global = microbatches, .sequence_length = 1024};
  return s;
}

Seconds forward_of(const job::Job& job, Stage stage) {
  const Passes passes(job);
  return des::to_seconds(passes.timing(stage, Chunk{0}, schedule::OpKind::kForward).total);
}

TEST(ForwardOnly, OnOneStageIsEveryForwardPassInTurn) {
  const job::Job job = evaluated(1, 6);
  EXPECT_NEAR(forward_only_time(job).value(), 6 * forward_of(job, Stage{0}).value(), 1e-9);
}

TEST(ForwardOnly, FillsThePipelineOnceAndWaitsForTheSlowestStage) {
  const job::Job job = evaluated(4, 12);
  double fill = 0, slowest = 0;
  for (const Stage stage : ids<Stage>(4)) {
    fill += forward_of(job, stage).value();
    slowest = std::max(slowest, forward_of(job, stage).value());
  }
  const double least = fill + 11 * slowest;
  EXPECT_GE(forward_only_time(job).value(), least);
  EXPECT_LT(forward_only_time(job).value(), 1.02 * least) << "messages are short";
}

TEST(ForwardOnly, IsOneStepWithoutAFlush) {
  job::Job job = evaluated(4, 12);
  const Seconds flushed = forward_only_time(job);
  for (const char* name : {"pipedream", "pipedream-2bw", "pipemare"}) {
    job.schedule = schedule::schedule_named(name);
    EXPECT_NEAR(forward_only_time(job) / flushed, 1, 0.05) << name;
  }
}

TEST(ForwardOnly, DropsNothing) {
  job::Job job = evaluated(2, 6);
  job.model.hidden_dropout = job.model.attention_dropout = 0;
  const Seconds without = forward_only_time(job);
  job.model.hidden_dropout = job.model.attention_dropout = 0.1;
  EXPECT_EQ(forward_only_time(job), without);
}

TEST(ForwardOnly, ExchangesTokensBetweenExperts) {
  job::Job job = evaluated(2, 6);
  job.model.experts = model::Experts{.count = 8, .per_token = 2, .width = 2048};
  job.gpus = 8;
  job.parallelism.data = job.parallelism.expert = 4;
  job.batch.global = 24;
  const Seconds usual = forward_only_time(job);
  job.routing.imbalance = 4;
  EXPECT_GT(forward_only_time(job), usual);
}

TEST(ForwardOnly, TakesLessThanHalfOfTheStep) {
  for (const int pipeline : {1, 4}) {
    const job::Job job = evaluated(pipeline, 16);
    const des::RunResult step = des::run(lower(job, Fidelity::kStage).workload.graph);
    EXPECT_LT(forward_only_time(job), 0.5 * des::to_seconds(step.makespan - des::Instant{}));
  }
}

}  // namespace
}  // namespace foretoken::step
