// Tests submissions of MLPerf some of whose files are not there.
#include "sim/io/import/launch/mlperf/read_mlperf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char* kName = "benchmarks/llama31_8b/implementations/nemo/config_DGXB200_2x8x2.sh";
constexpr const char* kVariables =
    "export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\nexport PP=1\nexport CP=1\n";

bool asks(const Report& report, const char* key) {
  return std::ranges::find(report.asked, key, &Asked::key) != report.asked.end();
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
  const Report never = read_test_launch(std::string(kVariables) + "export FP4=True\nexport HEALING_ITER=0\n", kName);
  EXPECT_EQ(why_assumed(never, "HEALING_ITER"), "");
}

TEST(ReadMlperf, FusionsOfMegatronCoreAreThoseOfTheRuntime) {
  for (const char* name : {"FUSED_SINGLE_QKV_ROPE", "FUSED_RESIDUAL_RMSNORM", "FUSED_QKV_ROPE"}) {
    const Report report = read_test_launch(std::string(kVariables) + "export " + name + "=True\n", kName);
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_EQ(why_assumed(report, name), "kernels are fused as the runtime has them") << name;
  }
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

// The folder nearest to the file tells the round. No conf/ is there.
TEST(ReadMlperf, LoraWithoutItsConfigurationHasTheDefaultsOfItsRound) {
  struct Case {
    const char *folder, *more;
    bool weights, overlap;
    int stage;
    const char* source;
  };
  constexpr const char* kOn = "export FP8=True\n";
  constexpr Case kCases[] = {
      {"training_results_v4.0", kOn, true, false, 0, "round 4.0 (by its folder)"},
      {"training_results_v4.1", kOn, true, true, 1, "round 4.1"},
      {"training_results_v5.0", kOn, true, false, 1, "round 5.0"},
      {"training_results_v5.0", "", true, false, 1, "round 5.0"},
      {"training_results_v5.1", kOn, false, false, 1, "round 5.1"},
      {"training_results_v5.1/B/XD670_v5.0", kOn, true, false, 1, "round 5.0"},
      {"training_results_v6.0", kOn, false, false, 1, "round 5.1 (the latest known before 6.0)"},
      {"runs", kOn, true, false, 1, "round 5.0 (taken where nothing names the round)"},
      {"runs", "export FP8=True\nexport LORA_A2A=1\n", true, false, 0, "round 4.0 (by its variables)"},
      {"runs", "export FP8=True\nexport LORA_A2A=1\nexport VAL_MBS=1\n", true, false, 1, "round 5.0"}};
  for (const Case& one : kCases) {
    SCOPED_TRACE(std::string(one.folder) + one.more);
    const Report report =
        read_test_launch(std::string(kVariables) + "export TP=1\n" + one.more,
                         std::string(one.folder) + "/A/benchmarks/llama2_70b_lora/config_DGXH100_2x8x1.sh");
    EXPECT_EQ(report.at("precision"), Json("fp8"));
    EXPECT_EQ(report.at("precision_recipe.weights"), one.weights ? Json("fp8") : Json());
    EXPECT_EQ(report.at("overlap.grad_reduce"), Json(one.overlap));
    EXPECT_EQ(report.whole("optimizer.zero_stage"), one.stage);
    if (!one.overlap)
      EXPECT_NE(why_assumed(report, "overlap.grad_reduce").find(one.source), std::string::npos)
          << why_assumed(report, "overlap.grad_reduce");
  }
}

TEST(ReadMlperf, FewerLayersStandForTheWholeModel) {
  const auto read = [](const std::string& folder, const std::string& more) {
    return read_test_launch(std::string(kVariables) + "export TP=1\n" + more,
                            "benchmarks/" + folder + "/config_DGXB200_2x8x2.sh");
  };
  const Report fewer = read("llama31_405b", "export MODEL_SIZE=405b\nexport OVERWRITTEN_NUM_LAYERS=62\n");
  EXPECT_EQ(fewer.whole("model.num_hidden_layers"), 62);
  EXPECT_EQ(fewer.whole("model.hidden_size"), 16384);
  EXPECT_EQ(read("llama31_405b", "export OVERWRITTEN_NUM_LAYERS=126\n").at("model"), Json("llama-3-405b"));
  EXPECT_EQ(read("llama2_70b_lora", "export OVERWRITTEN_NUM_LAYERS=8\n").whole("model.num_hidden_layers"), 8);
  const Report both = read("gpt_oss_20b", "export OVERWRITTEN_NUM_LAYERS=12\n");
  EXPECT_EQ(both.whole("model.num_hidden_layers"), 12);
  EXPECT_EQ(both.whole("model.vocab_size"), 128256);
  EXPECT_EQ(read("gpt3", "export NUM_LAYERS=48\n").whole("model.n_layer"), 48);
  EXPECT_TRUE(read("gpt3", "export HIDDEN_SIZE=8192\n").names("HIDDEN_SIZE"));
  // Some programs read it for 8b, others do not.
  const Report open = read("llama31_8b", "export OVERWRITTEN_NUM_LAYERS=8\n");
  EXPECT_TRUE(asks(open, "model"));
  EXPECT_FALSE(open.has("model"));
  EXPECT_EQ(read("llama31_8b", "export OVERWRITTEN_NUM_LAYERS=32\n").at("model"), Json("llama-3-8b"));
  EXPECT_NE(refused_lines(read("llama31_405b", "export OVERWRITTEN_NUM_LAYERS=all\n")).find("a whole number"),
            std::string::npos);
}

TEST(ReadMlperf, EveryVariableStandsInTheAnswer) {
  struct Case {
    const char *line, *name;
    bool refused;
  };
  constexpr Case kCases[] = {{"export FSDP=megatron", "FSDP", true},
                             {"export USE_MCORE_FSDP=True", "USE_MCORE_FSDP", true},
                             {"export USE_MCORE_FSDP=False", "USE_MCORE_FSDP", false},
                             {"export OFFLOAD_MODULES=core_attn", "OFFLOAD_MODULES", true},
                             {"export CPU_OFFLOADING=True", "CPU_OFFLOADING", true},  // of how many layers?
                             {"export PIPELINE_LAYOUT='Et|tL'", "PIPELINE_LAYOUT", true},
                             {"export OUR_OFFLOAD=1", "OUR_OFFLOAD", true},
                             {"export OUR_FP8_HEAD=1", "OUR_FP8_HEAD", true},
                             {"export TRANSFORMER_ENGINE=False", "TRANSFORMER_ENGINE", true},
                             {"export EXTRA_ARGS='model.num_layers=4'", "model.num_layers", true},
                             {"export EXTRA_ARGS='exp_manager.name=ours'", "EXTRA_ARGS", false},
                             {"export FIRST_LAST_LAYERS_BF16=True", "FIRST_LAST_LAYERS_BF16", false},
                             {"export RECOMPUTE_MODULES=mlp", "RECOMPUTE_MODULES", false},
                             {"export NCCL_MIN_CTAS=16", "NCCL_MIN_CTAS", false},
                             {"export LR=0.001", "LR", false},
                             {"export OUR_LOG_DIR=/logs", "OUR_LOG_DIR", false},
                             {"export OUR_COUNT=4", "OUR_COUNT", false},
                             {"export FP8_DPA=0", "FP8_DPA", false},
                             {"export TP_COMM_OVERLAP=True", "TP_COMM_OVERLAP", false}};
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.line);
    const Report report = read_test_launch(std::string(kVariables) + "export TP=1\n" + one.line + "\n", kName);
    EXPECT_EQ(!refused_lines(report).empty(), one.refused) << refused_lines(report);
    EXPECT_TRUE(report.names(one.name));
  }
}

TEST(ReadMlperf, TensorsOnTheHostAndModulesThatAreComputedAgainAreRead) {
  const auto read = [](const std::string& more) {
    return read_test_launch(std::string(kVariables) + "export TP=1\n" + more, kName);
  };
  const Report moved = read("export CPU_OFFLOADING=1\nexport CPU_OFFLOADING_NUM_LAYERS=12\n");
  EXPECT_EQ(moved.whole("offload.activations.layers"), 12);
  const Report again = read("export RECOMPUTE_GRANULARITY=selective\nexport RECOMPUTE_MODULES=core_attn,mlp\n");
  EXPECT_EQ(again.at("recompute.modules"), Json({"core_attn", "mlp"}));
  EXPECT_EQ(read("export MCORE_CUDA_GRAPH=1\nexport CUDA_GRAPH_SCOPE=full_iteration\n").at("cuda_graphs"),
            Json("full"));
  EXPECT_EQ(read("export MCORE_CUDA_GRAPH=1\n").at("cuda_graphs"), Json("layer"));
}

TEST(ReadMlperf, AVariableThatIsPartOfAMappedOneIsRead) {
  const auto read = [](const std::string& layers) {
    return read_test_launch(std::string(kVariables) + "export TP=1\nexport CPU_OFFLOADING=1\n" + layers, kName);
  };
  for (const char* layers : {"export CPU_OFFLOADING_NUM_LAYERS=\"${OFFLOAD_LAYERS:=20}\"\n",
                             "export CPU_OFFLOADING_NUM_LAYERS=${OFFLOAD_LAYERS:-20}\n",
                             "OFFLOAD_LAYERS=20\nexport CPU_OFFLOADING_NUM_LAYERS=$OFFLOAD_LAYERS\n"}) {
    const Report report = read(layers);
    EXPECT_EQ(report.whole("offload.activations.layers"), 20) << layers;
    EXPECT_EQ(refused_lines(report), "") << layers;
  }
  // Nothing mapped reads these: a text in single quotes, a variable that is left out, and none.
  for (const char* other :
       {"export OFFLOAD_LAYERS=20\nexport CPU_OFFLOADING_NUM_LAYERS=20\nexport LR='$OFFLOAD_LAYERS'\n",
        "export OFFLOAD_LAYERS=20\nexport CPU_OFFLOADING_NUM_LAYERS=20\nexport LR=$OFFLOAD_LAYERS\n",
        "export OFFLOAD_LAYERS=20\nexport CPU_OFFLOADING_NUM_LAYERS=20\n"})
    EXPECT_NE(refused_lines(read(other)).find("OFFLOAD_LAYERS"), std::string::npos) << other;
}

TEST(ReadMlperf, AttentionBesideFp4StaysInSixteenBits) {
  const Report report = read_test_launch(std::string(kVariables) + "export FP4=True\nexport FP8_DPA=True\n", kName);
  EXPECT_FALSE(report.has("precision_recipe.attention"));
  EXPECT_NE(why_assumed(report, "FP8_DPA").find("attention runs in bf16"), std::string::npos);
}

TEST(ReadMlperf, AttentionMayStayInSixteenBitsBesideFp8) {
  const std::string fp8 = std::string(kVariables) + "export FP8=True\nexport FP8_DPA=True\n";
  const auto attention = [&](const std::string& more) {
    return read_test_launch(fp8 + more, kName).at("precision_recipe.attention");
  };
  EXPECT_EQ(attention(""), Json("fp8"));
  EXPECT_EQ(attention("export NVTE_DPA_FP8_RECIPE=F16\n"), Json("bf16"));
  EXPECT_EQ(attention("export NVTE_DPA_FP8_RECIPE=\"\"\n"), Json("fp8"));
}

// Reads a script beside a conf/custom.yaml.
Report read_beside(const std::string& configuration, const std::string& script) {
  const std::filesystem::path root = std::filesystem::temp_directory_path() / "foretoken-mlperf-conf-test",
                              folder = (root / kName).parent_path();
  std::filesystem::create_directories(folder / "conf");
  std::ofstream(folder / "conf" / "custom.yaml") << configuration;
  Report report = read_test_launch(script, (root / kName).string());
  std::filesystem::remove_all(root);
  return report;
}

TEST(ReadMlperf, AVariableThatNoConfigurationReadsHasNoEffect) {
  const std::string script = std::string(kVariables) + "export FP8=True\nexport FP8_DPA=True\n";
  EXPECT_EQ(read_beside("model:\n  fp8_dot_product_attention: ${oc.decode:${oc.env:FP8_DPA,False}}\n", script)
                .at("precision_recipe.attention"),
            Json("fp8"));
  const Report report = read_beside("model:\n  fp8: ${oc.decode:${oc.env:FP8,False}}\n", script);
  EXPECT_FALSE(report.has("precision_recipe.attention"));
  EXPECT_TRUE(report.names("FP8_DPA"));
}

TEST(ReadMlperf, WeightsInFp8AreThoseOfTheModel) {
  const std::string script = std::string(kVariables) + "export FP8=True\nexport FP8_PARAMS=True\n";
  const std::string optimizer = "  optim:\n    fp8_params: ${oc.decode:${oc.env:FP8_PARAMS,False}}\n";
  EXPECT_EQ(read_beside("model:\n" + optimizer, script).at("precision_recipe.weights"), Json("fp8"));
  EXPECT_FALSE(read_beside("model:\n  fp8_param: ${oc.decode:${oc.env:FP8_PARAM,False}}\n" + optimizer, script)
                   .has("precision_recipe.weights"));
}

TEST(ReadMlperf, OneOfTheEmbeddingAndTheHeadDoesNotCount) {
  const std::string variables =
      "export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=8\nexport MICRO_BATCH_SIZE=1\nexport PP=2\nexport TP=1\n";
  EXPECT_NE(refused_lines(read_test_launch(variables + "export ASYM_PP_EMBED=True\n", kName)).find("ASYM_PP_EMBED"),
            std::string::npos);
}

TEST(ReadMlperf, DeepSeekIsRefusedByName) {
  for (const char* name : {"benchmarks/deepseekv3_671b/implementations/a/config_GB200_2x8.sh", "runs/config_GB200.sh"})
    EXPECT_NE(
        refused_lines(read_test_launch(std::string(kVariables) + "export MODEL_SIZE=671b\n", name)).find("deepseekv3"),
        std::string::npos);
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
  std::ofstream(folder / "conf/megatron_gpt_peft_tuning_config.yaml")
      << "model:\n  optim:\n    name: mcore_distributed_optim\n    overlap_grad_sync: False\n    lr: 1e-4\n";
  const Report report =
      read_test_launch(std::string(kVariables) + "export TP=1\n", (folder / "config_DGXH100_2x8x1.sh").string());
  EXPECT_NE(why_assumed(report, "optimizer.zero_stage").find("optim.name (conf/"), std::string::npos);
  EXPECT_EQ(report.at("overlap.grad_reduce"), Json(false));
  EXPECT_EQ(why_assumed(report, "overlap.param_gather"), "default of NeMo's recipe") << "no key of conf/ states it";
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

TEST(ReadMlperf, GpusOfAmdNeedAStatedCluster) {
  const std::string run = std::string(kVariables) + "export TP=1\nexport FP8=True\nexport ACG=full ACM=block ACL=";
  const char* const name = "training_results_v5.0/A/benchmarks/llama2_70b_lora/config_MI325X_2x8x1.sh";
  Findings findings;
  const Report open = read_launch_text(run + "4\n", name, {}, findings);
  EXPECT_EQ(refused_lines(open), "");
  const auto asked = std::ranges::find(open.asked, "cluster", &Asked::key);
  ASSERT_NE(asked, open.asked.end());
  EXPECT_NE(asked->because.find("MI325"), std::string::npos) << asked->because;
  const Report report = read_test_launch(run + "4\n", name);
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_FALSE(asks(report, "cluster"));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0);
  EXPECT_NE(why_assumed(report, "optimizer.zero_stage").find("AMD's configuration of round 5.0, as no conf/ is here"),
            std::string::npos);
  EXPECT_EQ(why_assumed(report, "dropout").find("conf/"), std::string::npos) << "no conf/ is here";
  EXPECT_EQ(report.at("precision_recipe.weights"), Json("fp8"));
  EXPECT_EQ(report.whole("recompute.layers"), 4);
  EXPECT_EQ(read_test_launch(run + "0\n", name).at("recompute"), Json({{"granularity", "none"}}));
}

// Submitters name their machines themselves, with the GPU inside.
TEST(ReadMlperf, GpusInsideTheNameTellTheCluster) {
  const auto read = [](const std::string& machine, const std::string& each) {
    Findings findings;
    return read_launch_text(
        "export DGXNNODES=2\nexport DGXNGPU=" + each + "\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\nexport TP=1\n",
        "benchmarks/llama31_8b/config_" + machine + "_2x" + each + "x2.sh", {}, findings);
  };
  const std::pair<const char*, const char*> kKnown[] = {
      {"7ccB200", "dgx-b200-ndr"},    {"QX9000Lx8B200-SXM-180GB", "dgx-b200-ndr"},
      {"R700G6H100", "dgx-h100-ndr"}, {"ours_H200", "hgx-h200-ndr"},
      {"DGXB300", "dgx-b300-xdr"},    {"OURGB300", "gb300-nvl72"}};
  for (const auto& [machine, cluster] : kKnown) EXPECT_EQ(read(machine, "8").at("cluster"), Json(cluster)) << machine;
  for (const auto& [machine, each] : {std::pair{"QX7000x4H200-NVL-141GB", "4"},
                                      {"QX7000x4H100", "4"},
                                      {"H100-PCIe", "8"},
                                      {"ourA100", "8"},
                                      {"GH200", "8"},
                                      {"QX9", "8"}}) {
    const Report open = read(machine, each);
    EXPECT_FALSE(open.has("cluster")) << machine;
    EXPECT_TRUE(asks(open, "cluster")) << machine;
  }
}

TEST(ReadMlperf, TheNameStatesTheGpusOfANodeWhereNoVariableDoes) {
  const std::string run = "export DGXNNODES=2\nexport MINIBS=2\nexport MICRO_BATCH_SIZE=1\nexport PP=1\nexport TP=1\n";
  const Report named = read_test_launch(run, "benchmarks/llama31_8b/config_ours_2x4x2xtp1.sh");
  EXPECT_EQ(named.whole("gpus"), 8);
  EXPECT_NE(why_assumed(named, "gpus").find("the name of the file says 2x4"), std::string::npos);
  const char* const kPlain = "benchmarks/llama31_8b/config_ours.sh";
  const Report usual = read_test_launch(run, kPlain);
  EXPECT_EQ(usual.whole("gpus"), 16);
  EXPECT_NE(why_assumed(usual, "gpus").find("no file of the configuration sets DGXNGPU"), std::string::npos);
  const Report open = read_test_launch("source config_ours_common.sh\n" + run, kPlain);
  EXPECT_FALSE(open.has("gpus"));
  EXPECT_TRUE(asks(open, "gpus"));
  EXPECT_TRUE(asks(open, "batch.global"));
}

TEST(ReadMlperf, AnotherOrderOfRanksIsNamed) {
  const auto why = [](const std::string& stages) {
    return why_assumed(read_test_launch("export DGXNNODES=2\nexport DGXNGPU=8\nexport MINIBS=8\nexport "
                                        "MICRO_BATCH_SIZE=1\nexport TP=1\nexport TP_PP_DP_MAPPING=True\nexport PP=" +
                                            stages + "\n",
                                        kName),
                       "TP_PP_DP_MAPPING");
  };
  EXPECT_NE(why("2").find("the stages of a replica"), std::string::npos) << why("2");
  EXPECT_EQ(why("1"), "") << "one stage has one order";
}

// Round 5.1 names the optimizer by the nodes: ${if:${gt:trainer.num_nodes,1},mcore_distributed_optim,fused_adam}.
TEST(ReadMlperf, DefaultsOfAmdAreThoseOfARound) {
  const auto read = [](const std::string& folder, int nodes) {
    const std::string run = "export DGXNNODES=" + std::to_string(nodes) +
                            "\nexport DGXNGPU=8 MINIBS=2 MICRO_BATCH_SIZE=1 PP=1 CP=1 TP=1 FP8=True ACG=full ACM=block "
                            "ACL=4\n";
    return read_test_launch(run, folder + "A/benchmarks/llama2_70b_lora/config_MI325X_2x8x1.sh");
  };
  EXPECT_EQ(read("training_results_v5.1/", 1).whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(read("training_results_v5.1/", 2).whole("optimizer.zero_stage"), 1);
  const auto why = [&](const std::string& folder) { return why_assumed(read(folder, 1), "optimizer.zero_stage"); };
  EXPECT_NE(why("training_results_v5.1/").find("of round 5.1, as no conf/"), std::string::npos);
  EXPECT_NE(why("training_results_v6.0/").find("of round 5.1, taken for 6.0"), std::string::npos);
  EXPECT_NE(why("training_results_v4.1/").find("of round 5.0, taken for 4.1"), std::string::npos);
  EXPECT_NE(why("").find("of round 5.0, as nothing names the round"), std::string::npos);
}

// mlcommons/training, small_llm_pretraining/nemo: the variables of its configurations.
TEST(ReadMlperf, ConfigurationsOfTheReferenceProgramAreRefusedByName) {
  const std::string ours = "export SIZE=8b\nexport GBS=64\nexport MBS=2\nexport NNODES=2\n";
  EXPECT_NE(refused_lines(read_test_launch(ours + "export GPUS_PER_NODE=8\n", "config_2x8x1_8b.sh"))
                .find("variables: no configuration variables"),
            std::string::npos);
}

TEST(ReadMlperf, AWrapperWithoutItsConfigurationIsIncomplete) {
  for (const char* rest : {"export DGXSYSTEM=ours\n", "sbatch -N $DGXNNODES -t 10 run.sub\n"})
    EXPECT_NE(
        refused_lines(read_test_launch(std::string("source $(dirname ${BASH_SOURCE[0]})/config_our_8b.sh\n") + rest,
                                       "config_2x8x1_8b.sh"))
            .find("incomplete: "),
        std::string::npos)
        << rest;
}

}  // namespace
}  // namespace foretoken::io::launch::mlperf
