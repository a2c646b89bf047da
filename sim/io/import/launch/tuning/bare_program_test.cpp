// Programs without flags beside a file of DeepSpeed, and programs around DeepSpeed's pipeline engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"
#include "sim/io/import/launch/tuning/own_programs.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr const char* kWritten =
    "cat > ds.json <<END\n{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}, "
    "\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 16}\nEND\n";

constexpr const char* kOfStages =
    "cat > one.json <<END\n{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}, "
    "\"train_micro_batch_size_per_gpu\": 1, \"gradient_accumulation_steps\": 16}\nEND\n";

Report read(const std::string& command) {
  return read_test_launch(std::string(kWritten) + kOfStages + command + "\n", "train.sh");
}

TEST(BareProgram, TheFileOfTheLauncherIsRead) {
  for (const char* command :
       {"accelerate launch --use_deepspeed --deepspeed_config_file ds.json --num_processes 4 train_sft.py",
        "deepspeed --num_gpus 4 train_sft.py --deepspeed --deepspeed_config ds.json --seed 1"}) {
    const Report report = read(command);
    EXPECT_EQ(report.whole("optimizer.zero_stage"), 2) << command;
    EXPECT_EQ(report.at("precision"), Json("bf16")) << command;
    EXPECT_EQ(report.whole("batch.micro"), 1) << command;
    EXPECT_EQ(report.whole("batch.global"), 64) << command;
    EXPECT_EQ(report.whole("gpus"), 4) << command;
    EXPECT_TRUE(report.asks("model") && report.asks("batch.sequence_length")) << command;
    EXPECT_TRUE(report.names("train_sft.py")) << command;
  }
}

TEST(StagedProgram, DegreesOfDeepSpeedsEngineAreNoMegatrons) {
  const std::string start =
      "deepspeed --num_gpus 16 my/train.py --init_ckpt /models/llama-30b/ --max_seq_len 8192 --train_steps 10 --ntk "
      "true "
      "--pipe_parallel_size 4 --model_parallel_size 2 ";
  const Report report = read(start + "--deepspeed_config one.json");
  EXPECT_EQ(report.whole("parallelism.pipeline"), 4);
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
  EXPECT_EQ(report.whole("batch.global"), 16 * 2) << "two replicas";
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_TRUE(report.asks("model") && report.asks("recompute.granularity"));
  EXPECT_TRUE(report.refused.empty());
  EXPECT_TRUE(read(start).asks("precision")) << "no file states it";
  const Report open = read(
      "deepspeed --num_gpus 16 my/train.py --max_seq_len 64 --pipe_parallel_size $1 "
      "--deepspeed_config one.json");
  EXPECT_TRUE(open.asks("parallelism.pipeline") && open.asks("batch.global"));
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
