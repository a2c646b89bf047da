// Tests stages without layers: the embedding, or the head with its predictions, stands alone.
#include <gtest/gtest.h>

#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/passes.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

using schedule::OpKind;

constexpr Stage kFirst{0}, kMiddle{1}, kLast{2};

job::Job job_of(std::vector<int> layers) {
  job::Job job = test_job(4, 1024);
  job.model.tied_embeddings = false;
  job.model.prediction_layers = 1;
  job.gpus = 3;
  job.parallelism.pipeline = 3;
  job.parallelism.layers_per_stage = std::move(layers);
  job.batch = {.micro = 1, .global = 6, .sequence_length = 1024};
  return job;
}

TEST(EndStages, ParametersOfALastStageAreThoseOfHeadAndPrediction) {
  const job::Job job = job_of({2, 2, 0});
  const double h = 1024, table = 51200 * h;
  const double layer = 12 * h * h + 13 * h, norm = 2 * h;
  const double prediction = layer + 2 * h * h + 3 * norm;  // two norms of the inputs, their product, the final norm
  EXPECT_EQ(LocalParameters(job).of_stage(kLast), table + norm + prediction + table)
      << "head, its norm, the predicted token's layer, and a copy of the embedding for its inputs";
}

TEST(EndStages, MemoryIsThatOfALayerLess) {
  const job::Job with = job_of({2, 1, 1}), without = job_of({2, 2, 0});
  const JobMemory one(with), none(without);
  const double layer = LocalParameters(with).of_layer(0);
  EXPECT_EQ(one.held(kLast).weights - none.held(kLast).weights, Bytes(with.recipe.weight_bytes * layer));
  const Bytes of_layer = one.of_pass(kMiddle, Chunk{}).stash;
  EXPECT_EQ(one.of_pass(kLast, Chunk{}).stash - none.of_pass(kLast, Chunk{}).stash, of_layer);
  EXPECT_LE(none.of_pass(kLast, Chunk{}).transient, one.of_pass(kLast, Chunk{}).transient);
}

TEST(EndStages, PassesHoldOneBlock) {
  const job::Job job = job_of({0, 4, 0});
  const Passes passes(job);
  for (const Stage stage : {kFirst, kLast})
    for (const OpKind kind : {OpKind::kForward, OpKind::kBackward})
      EXPECT_EQ(passes.blocks(stage, Chunk{}, kind).size(), 1U);
  EXPECT_EQ(passes.blocks(kMiddle, Chunk{}, OpKind::kForward).size(), 4U);
  const job::Job other = job_of({2, 1, 1});
  const Passes longer(other);
  EXPECT_EQ(longer.blocks(kLast, Chunk{}, OpKind::kForward).back()->size(),
            passes.blocks(kLast, Chunk{}, OpKind::kForward).front()->size())
      << "the head is the same";
  EXPECT_LT(passes.timing(kLast, Chunk{}, OpKind::kForward).total,
            longer.timing(kLast, Chunk{}, OpKind::kForward).total);
}

TEST(EndStages, TheSlowestStageMakesTheStep) {
  const auto makespan = [](std::vector<int> layers) {
    return des::run(lower(job_of(std::move(layers)), Fidelity::kStage).workload.graph).makespan;
  };
  EXPECT_LT(makespan({2, 2, 0}), makespan({1, 1, 2})) << "head and prediction take as long as several layers";
}

}  // namespace
}  // namespace foretoken::step
