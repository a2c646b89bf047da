// Tests the memory of split backward passes: what waits for backwards for weight, by Table 2 of arXiv:2401.10241.
#include <gtest/gtest.h>

#include "sim/observe/memory_timeline.h"
#include "sim/schedule/catalogue.h"
#include "sim/step/test_job.h"

namespace foretoken::observe {
namespace {

job::Job four_stages(const char* schedule) {
  job::Job job = step::test_job(8, 2048);
  job.gpus = job.parallelism.pipeline = 4;
  job.batch = {.micro = 1, .global = 16, .sequence_length = 2048, .microbatch_group = {}};
  job.schedule = schedule::schedule_named(schedule);
  return job;
}

// Stage r of ZB-H1 holds p - r micro-batches as forwards left them, and r whose backwards for weight wait.
TEST(SplitMemory, StagesHoldWhatTable2OfTheZeroBubblePaperSays) {
  const job::Job job = four_stages("zb-h1");
  const step::JobMemory memory(job);
  const schedule::Program program = job.schedule.build({.stages = 4, .microbatches = 16});
  for (const Stage stage : ids<Stage>(3)) {  // the last stage has the loss
    const step::PassMemory pass = memory.of_pass(stage, Chunk{});
    EXPECT_GT(pass.for_weights, Bytes(0));
    EXPECT_LT(pass.for_weights, pass.stash);
    const Bytes expected =
        (4.0 - stage.number()) * pass.stash + 1.0 * stage.number() * pass.for_weights + pass.transient;
    EXPECT_EQ(peak_live_bytes(memory.of_passes(stage), program.stages[stage], Bytes(0)), expected) << stage.number();
  }
}

TEST(SplitMemory, WholeBackwardsKeepNothingForWeights) {
  const job::Job job = four_stages("1f1b");
  EXPECT_EQ(step::JobMemory(job).of_pass(Stage{0}, Chunk{}).for_weights, Bytes(0));
}

}  // namespace
}  // namespace foretoken::observe
