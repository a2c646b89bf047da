// Tests the parameters of stages where embedding and head train whole beside LoRA.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/step/memory/parameters.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr double kTable = 51200.0 * 1024;  // no padding: 400 times 128

job::Job lora_job(int stages, model::WholeParts whole) {
  job::Job job = test_job(4, 1024);
  job.gpus = job.parallelism.pipeline = stages;
  job.model.tuning = {.method = model::TuningMethod::kLora, .rank = 8, .targets = {.queries = true}, .whole = whole};
  return job;
}

double sum_of(const std::vector<double>& blocks) { return std::accumulate(blocks.begin(), blocks.end(), 0.0); }

// The tied table stands on both stages, frozen. A copy stands where its part does.
TEST(WholePartsOfStages, ACopyStandsBesideItsTable) {
  const job::Job lora = lora_job(2, {}), whole = lora_job(2, {.embedding = true, .head = true});
  for (const Counted counted : {Counted::kAll, Counted::kTrained}) {
    const LocalParameters before(lora, counted), after(whole, counted);
    for (const Stage stage : {Stage{0}, Stage{1}}) {
      EXPECT_EQ(after.of_stage(stage), before.of_stage(stage) + kTable);
      EXPECT_EQ(sum_of(after.of_blocks(stage, Chunk{0})), after.of_stage(stage));
    }
  }
}

// The gradient of the embedding is ready last, whatever else stands on its stage.
TEST(WholePartsOfStages, ACopyOfTheTableCountsWithTheEmbedding) {
  const job::Job whole = lora_job(1, {.embedding = true});
  const LocalParameters trained(whole, Counted::kTrained);
  const std::vector<double> blocks = trained.of_blocks(Stage{0}, Chunk{0});
  EXPECT_EQ(blocks.front(), kTable);
  EXPECT_EQ(blocks.back(), 0);
  EXPECT_EQ(sum_of(blocks), trained.of_stage(Stage{0}));
}

}  // namespace
}  // namespace foretoken::step
