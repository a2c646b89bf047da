// Tests submissions of MLPerf some of whose files are not there.
#include "sim/io/import/launch/mlperf/read_mlperf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char* kName = "benchmarks/llama31_8b/implementations/nemo/config_DGXB200_2x8x2.sh";
constexpr const char* kVariables =
    "export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\nexport PP=1\nexport CP=1\n";

bool asks(const Report& report, const char* key) {
  return std::ranges::find(report.asked, key, &Asked::key) != report.asked.end();
}

std::string why_assumed(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
  return found == report.assumed.end() ? "" : found->because;
}

TEST(ReadMlperf, WhatAnAbsentFileMayStateIsAsked) {
  const Report report = read_test_launch(std::string("source config_common.sh\n") + kVariables, kName);
  for (const char* key : {"precision", "recompute.granularity", "parallelism.tensor", "batch.global"}) {
    EXPECT_TRUE(asks(report, key)) << key;
    EXPECT_FALSE(report.has(key)) << key;
  }
  EXPECT_FALSE(report.has("parallelism.sequence_parallel"));
  EXPECT_EQ(report.whole("parallelism.pipeline"), 1) << "the script states it";
  EXPECT_EQ(report.whole("parallelism.expert"), 1) << "the model has no experts";
}

TEST(ReadMlperf, WhereAllFilesAreThereDefaultsHold) {
  const Report report = read_test_launch(kVariables, kName);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.whole("parallelism.tensor"), 1);
  EXPECT_EQ(report.whole("batch.global"), 2 * 16);
}

TEST(ReadMlperf, FormatsThatChangeDuringTheRunAreNamed) {
  const Report report = read_test_launch(std::string(kVariables) + "export FP4=True\nexport HEALING_ITER=350\n", kName);
  EXPECT_EQ(report.at("precision"), Json("nvfp4"));
  EXPECT_TRUE(report.names("HEALING_ITER"));
  EXPECT_FALSE(read_test_launch(std::string(kVariables) + "export FP4=True\nexport HEALING_ITER=0\n", kName)
                   .names("HEALING_ITER"));
}

TEST(ReadMlperf, ActivationsThatAreKeptInFp8AreNamed) {
  for (const char* name : {"FP8_ACTIVATION", "FP8_ACT"}) {
    const auto read = [&](const char* value) {
      return read_test_launch(std::string(kVariables) + "export FP8=True\nexport " + name + "=" + value + "\n", kName);
    };
    const Report on = read("True");
    EXPECT_EQ(refused_lines(on), "");
    EXPECT_TRUE(std::ranges::any_of(on.assumed, [&](const Assumed& one) {
      return one.key.find(name) != std::string::npos && one.because.find("more memory") != std::string::npos;
    }));
    EXPECT_FALSE(read("0").ignored.empty());
  }
}

// No conf/ is there: the round tells the optimizer.
TEST(ReadMlperf, LoraOfTheFirstRoundShardsNothing) {
  const auto read = [](const std::string& round) {
    return read_test_launch(
        std::string(kVariables) + "export TP=1\n",
        "training_results_" + round + "/A/benchmarks/llama2_70b_lora/implementations/pytorch/config_DGXH100_2x8x1.sh");
  };
  const Report first = read("v4.0");
  EXPECT_EQ(first.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(first.at("overlap.grad_reduce"), Json(false));
  EXPECT_EQ(first.at("overlap.param_gather"), Json(false));
  EXPECT_EQ(read("v5.1").whole("optimizer.zero_stage"), 1);
}

TEST(ReadMlperf, TheOptimizerOfLoraStandsInItsConfiguration) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "foretoken-mlperf-test" / "benchmarks/llama2_70b_lora";
  std::filesystem::create_directories(folder / "conf");
  const auto stage = [&](const std::string& name) {
    std::ofstream(folder / "conf/megatron_gpt_peft_tuning_config.yaml")
        << "model:\n  optim:\n    name: " << name << "\n    lr: 1e-4\n";
    return read_test_launch(std::string(kVariables) + "export TP=1\n", (folder / "config_DGXH100_2x8x1.sh").string())
        .whole("optimizer.zero_stage");
  };
  EXPECT_EQ(stage("fused_adam"), 0);
  EXPECT_EQ(stage("mcore_distributed_optim"), 1);
  std::filesystem::remove_all(folder.parent_path().parent_path());
}

TEST(ReadMlperf, ConfigurationsAlsoStandBelowSrcAndTellTheExchange) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "foretoken-mlperf-src-test" / "benchmarks/llama2_70b_lora";
  std::filesystem::create_directories(folder / "src/conf");
  const auto read = [&](const std::string& more, const std::string& type) {
    std::ofstream(folder / "src/conf/megatron_gpt_peft_tuning_config.yaml")
        << "model:\n  cp_comm_type: ${oc.decode:${oc.env:CP_COMM_TYPE," << type << "}}\n"
        << "  optim:\n    name: fused_adam\n";
    return read_test_launch(std::string(kVariables) + more, (folder / "config_DGXB200_2x8x2.sh").string());
  };
  EXPECT_EQ(read("export TP=1\n", "'a2a'").whole("optimizer.zero_stage"), 0);
  EXPECT_FALSE(read("export TP=1\n", "'a2a'").has("parallelism.context_exchange")) << "one rank exchanges nothing";
  const std::string two = "export TP=1\nexport CP=2\n";
  EXPECT_EQ(read(two, "'a2a'").at("parallelism.context_exchange"), Json("all-to-all"));
  EXPECT_EQ(read(two, "'p2p'").at("parallelism.context_exchange"), Json("ring"));
  EXPECT_EQ(read(two + "export CP_COMM_TYPE=all_gather\n", "'a2a'").at("parallelism.context_exchange"),
            Json("all-gather"));
  EXPECT_TRUE(read(two, "'a2a+p2p'").names("CP_COMM_TYPE"));
  std::filesystem::remove_all(folder.parent_path().parent_path());
}

// The folder has a name of the submitter's own.
TEST(ReadMlperf, AdaptersTellTheirBenchmark) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "foretoken-mlperf-lora-test/ft-llm";
  std::filesystem::create_directories(folder / "conf");
  const auto read = [&](const std::string& more) {
    return read_test_launch(kVariables + more + "export TP=1\n", (folder / "config_DGXH100_2x8x1.sh").string());
  };
  const Report unknown = read("");
  for (const char* key : {"model", "training.method", "optimizer.zero_stage", "overlap.grad_reduce"})
    EXPECT_TRUE(asks(unknown, key)) << key;
  EXPECT_FALSE(unknown.has("precision_recipe.gradients"));
  const Report exchanged = read("export LORA_A2A=1\n");
  EXPECT_EQ(exchanged.at("model"), Json("llama-2-70b"));
  EXPECT_EQ(exchanged.whole("training.rank"), 16);
  EXPECT_NE(why_assumed(exchanged, "training.rank").find("mlcommons/training, llama2_70b_lora/README.md"),
            std::string::npos);
  EXPECT_EQ(why_assumed(read("export LORA_A2A=1\nexport LORA_DIM=8\n"), "training.rank"), "") << "it is stated";
  EXPECT_TRUE(asks(read("export LORA_A2A=1\nexport LORA_DIM=many\n"), "training.rank"));
  EXPECT_TRUE(asks(read("export LORA_A2A=0\n"), "model")) << "the switch of an exchange that is off";
  std::ofstream(folder / "conf/megatron_gpt_peft_tuning_config.yaml")
      << "model:\n  encoder_seq_length: ${oc.decode:${oc.env:MAX_SEQLEN,8192}}\n  peft:\n    lora_tuning:\n"
         "      adapter_dim: ${oc.decode:${oc.env:LORA_DIM,8}}\n  optim:\n    name: fused_adam\n";
  const Report report = read("");
  EXPECT_EQ(report.at("model"), Json("llama-2-70b"));
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 8);
  EXPECT_NE(why_assumed(report, "training.rank").find("default of the submission: LORA_DIM"), std::string::npos);
  EXPECT_EQ(report.whole("batch.sequence_length"), 8192);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0) << "optim.name is fused_adam";
  EXPECT_FALSE(asks(report, "overlap.grad_reduce"));
  std::filesystem::remove_all(folder.parent_path());
}

// Llama 3.1's tokens, and a length under another variable
TEST(ReadMlperf, TheBenchmarkOfGptOssHasAVocabularyOfItsOwn) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "foretoken-mlperf-oss-test/benchmarks/gpt_oss_20b";
  std::filesystem::create_directories(folder / "conf");
  std::ofstream(folder / "conf/gpt_oss.yaml")
      << "model:\n  encoder_seq_length: ${oc.decode:${oc.env:ENCODER_SEQ_LENGTH,8192}}\n";
  const auto read = [&](const std::string& more) {
    return read_test_launch(kVariables + more + "export TP=1\nexport EXPERT_PARALLEL=4\n",
                            (folder / "config_DGXH100_2x8x1.sh").string());
  };
  EXPECT_EQ(read("").whole("model.vocab_size"), 128256);
  EXPECT_EQ(read("").at("model.model_type"), Json("gpt_oss"));
  EXPECT_EQ(read("").whole("parallelism.expert"), 4);
  EXPECT_EQ(read("").whole("batch.sequence_length"), 8192);
  EXPECT_EQ(read("export ENCODER_SEQ_LENGTH=4096\n").whole("batch.sequence_length"), 4096);
  std::ofstream(folder / "conf/gpt_oss.yaml") << "model:\n  encoder_seq_length: ${oc.env:ENCODER_SEQ_LENGTH}\n";
  EXPECT_EQ(read("export ENCODER_SEQ_LENGTH=4096\n").whole("batch.sequence_length"), 4096);
  const Report open = read("");
  const auto asked = std::ranges::find(open.asked, "batch.sequence_length", &Asked::key);
  ASSERT_NE(asked, open.asked.end());
  EXPECT_EQ(asked->because, "ENCODER_SEQ_LENGTH is not set; state it with --seq N");
  std::filesystem::remove_all(folder.parent_path().parent_path());
}

TEST(ReadMlperf, TheSizeOfLlama31TellsTheModelInFoldersOfOtherNames) {
  const auto model = [](const std::string& more, const std::string& name) {
    return read_test_launch(std::string(kVariables) + more, name).at("model");
  };
  EXPECT_EQ(model("", "benchmarks/llama3_8b/implementations/nemo/config_XD670_2x8x2.sh"), Json("llama-3-8b"));
  EXPECT_EQ(model("export MODEL_SIZE=8b\n", "runs/config_XD670_2x8x2.sh"), Json("llama-3-8b"));
  EXPECT_EQ(model("export MODEL_SIZE=405b\n", "runs/config_XD670_2x8x2.sh"), Json("llama-3-405b"));
  EXPECT_EQ(model("", "runs/config_XD670_2x8x2.sh"), Json());
}

}  // namespace
}  // namespace foretoken::io::launch::mlperf
