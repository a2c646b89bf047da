// Tests experiments of FlagScale.
#include "sim/io/import/launch/megatron/flagscale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FlagScaleFolder : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "train"); }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  Report read(const std::string& text) {
    write("experiment.yaml", text);
    return read_test_launch(text, (folder_ / "experiment.yaml").string());
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("flagscale-" + std::to_string(::getpid()));
};

constexpr const char* kTraining =
    "system: {tensor_model_parallel_size: 2, use_distributed_optimizer: true, precision: {bf16: true}}\n"
    "model: {num_layers: 24, hidden_size: 2048, num_attention_heads: 16, seq_length: 4096,\n"
    "  max_position_embeddings: 4096, micro_batch_size: '${experiment.micro}', global_batch_size: 64}\n"
    "data: {tokenizer: {vocab_size: 50304}}\n";

TEST_F(FlagScaleFolder, AnExperimentNamesItsTrainingAndItsGpus) {
  write("train/small.yaml", kTraining);
  const Report report = read(
      "defaults: [_self_, {train: small}]\nexperiment:\n  micro: 2\n  task: {type: train, backend: megatron}\n"
      "  runner: {hostfile: /share/hosts, nnodes: 4, nproc_per_node: 8}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.num_layers"), 24);
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("batch.micro"), 2) << "the experiment states it";
  EXPECT_EQ(report.whole("gpus"), 4 * 8);
}

TEST_F(FlagScaleFolder, TheTaskMayBeAWordBesideWhatItNeeds) {
  write("train/small.yaml", kTraining);
  const auto older = [&](const std::string& hosts, const std::string& task) {
    return read("defaults: [_self_, {train: small}]\nexperiment:\n  micro: 2\n  entrypoint: pretrain.py\n  task: " +
                task + "\n  backend: megatron\n  hostfile: " + hosts + "\n  envs: {CUDA_VISIBLE_DEVICES: '0,1'}\n");
  };
  const Report alone = older("null", "train");
  EXPECT_EQ(refused_lines(alone), "");
  EXPECT_EQ(alone.whole("model.num_layers"), 24);
  EXPECT_EQ(alone.whole("gpus"), 2);
  const Report listed = older("<hosts>", "train");
  EXPECT_FALSE(listed.has("gpus")) << "the nodes stand in a file";
  EXPECT_THAT(refused_lines(older("null", "inference")), HasSubstr("does not train: inference"));
}

TEST_F(FlagScaleFolder, VisibleDevicesAreTheGpusOfOneNode) {
  write("train/small.yaml", kTraining);
  const std::string experiment =
      "defaults: [{train: small}]\nexperiment:\n  micro: 2\n  task: {type: train}\n"
      "  envs: {CUDA_VISIBLE_DEVICES: '0,1,2,3'}\n";
  EXPECT_EQ(read(experiment + "  runner: {hostfile: null}\n").whole("gpus"), 4);
  EXPECT_EQ(read(experiment + "  runner: {nnodes: 1, nproc_per_node: 8}\n").whole("gpus"), 4);
  EXPECT_EQ(read(experiment + "  runner: {nnodes: 1, nproc_per_node: 2}\n").whole("gpus"), 2);
  const Report alone = read(experiment + "  runner: {nnodes: 4, nproc_per_node: 8}\n");
  EXPECT_FALSE(alone.has("gpus"));
  EXPECT_THAT(alone.json().dump(), HasSubstr("nnodes is 4, but without a hostfile FlagScale starts one node"));
  const Report listed = read(experiment + "  runner: {hostfile: /share/hosts}\n");
  EXPECT_FALSE(listed.has("gpus")) << "the hosts are not known";
  EXPECT_THAT(listed.json().dump(), HasSubstr("the nodes stand in /share/hosts"));
}

TEST_F(FlagScaleFolder, OtherTasksAndAbsentTrainingsAreNamed) {
  EXPECT_THAT(refused_lines(read("defaults: [{serve: a}]\nexperiment: {task: {type: serve, backend: vllm}}\n")),
              HasSubstr("an experiment that does not train: serve"));
  EXPECT_THAT(refused_lines(read("defaults: [{train: b}]\nexperiment: {task: {type: train, backend: native}}\n")),
              HasSubstr("no training of Megatron-LM: native"));
  EXPECT_THAT(refused_lines(read("defaults: [{train: ../b}]\nexperiment: {task: {type: train}}\n")),
              HasSubstr("not beside it: train/../b.yaml"));
}

}  // namespace
}  // namespace foretoken::io::launch::megatron
