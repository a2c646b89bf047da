// Tests commands of primus-cli, and scripts in jobs of MosaicML's platform.
#include "sim/io/import/launch/primus_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint_about(const std::string& text, const std::string& name) {
  Findings findings;
  (void)read_launch_text(text + "\n", name, {}, findings);
  return lines_of(findings.complaints);
}

TEST(PrimusCommand, FlagsOverrideKeysOfTheExperiment) {
  const std::vector<std::string> words = {"./primus-cli", "direct",       "--", "train",     "pretrain",   "--config",
                                          "a.yaml",       "--num_layers", "24", "--lr=1e-4", "--use_turbo"};
  EXPECT_TRUE(is_primus_command(words));
  EXPECT_THAT(overrides_of_primus(words, 7),
              ElementsAre("modules.pre_trainer.overrides.num_layers=24", "modules.pre_trainer.overrides.lr=1e-4",
                          "modules.pre_trainer.overrides.use_turbo=true"));
  EXPECT_FALSE(is_primus_command({"./primus-cli", "direct", "--", "benchmark", "gemm"}));
}

TEST(PrimusCommand, TheExperimentIsReadWithItsFlags) {
  const fs::path folder = fs::path(testing::TempDir()) / ("primus" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "a.yaml") << "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n"
                                      "      num_layers: 4\n      hidden_size: 512\n      num_attention_heads: 8\n"
                                      "      seq_length: 512\n      bf16: true\n      global_batch_size: 64\n";
  const Report report = read_test_launch(
      "export NNODES=2 GPUS_PER_NODE=8\n./primus-cli direct -- train pretrain --config a.yaml --num_layers 6 "
      "--micro_batch_size 2 --expert_model_parallel_size 1",
      (folder / "run.sh").string());
  fs::remove_all(folder);
  EXPECT_EQ(report.framework, "Megatron-LM by Primus");
  EXPECT_EQ(report.whole("model.num_layers"), 6);
  EXPECT_EQ(report.whole("model.hidden_size"), 512);
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("gpus"), 16);
}

TEST(PrimusCommand, AnAbsentExperimentIsNamed) {
  EXPECT_THAT(complaint_about("./primus-cli direct -- train pretrain --config conf/absent.yaml --num_layers 24 "
                              "--micro_batch_size 2 --global_batch_size 64",
                              "run.sh"),
              HasSubstr("conf/absent.yaml, which is not there"));
}

TEST(PrimusCommand, OtherFrameworksAreNamed) {
  EXPECT_THAT(complaint_about("modules: {pre_trainer: {framework: light-megatron}}", "a.yaml"),
              HasSubstr("Primus for light-megatron"));
}

TEST(JobOfMosaic, ItsScriptIsRead) {
  const std::string job = "image: a\ncompute:\n  gpus: 8\ncommand: |\n  cd a\n";
  EXPECT_THAT(complaint_about(job + "  composer train.py conf/absent.yaml max_duration=1ba\n", "job.yaml"),
              HasSubstr("conf/absent.yaml, which is not there"));
  const Report report = read_test_launch(
      job +
          "  python pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
          "--micro-batch-size 1 --bf16\n",
      "job.yaml");
  EXPECT_EQ(report.whole("model.num_layers"), 24);
  EXPECT_EQ(report.whole("gpus"), 8);
}

}  // namespace
}  // namespace foretoken::io::launch
