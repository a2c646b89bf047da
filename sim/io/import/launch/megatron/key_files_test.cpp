// Tests files whose keys are Megatron-LM's arguments.
#include "sim/io/import/launch/megatron/key_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

TEST(KeyFiles, FlagScaleHasItsArgumentsInSections) {
  const Report report = read_test_launch(
      "system:\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  disable_bias_linear: True\n"
      "  use_flash_attn: True\n  precision: {bf16: True, attention_softmax_in_fp32: True}\n"
      "  logging: {log_interval: 1, wandb_project: a}\n"
      "model:\n  num_layers: 24\n  hidden_size: 2048\n  num_attention_heads: 16\n  seq_length: 4096\n"
      "  max_position_embeddings: 4096\n  swiglu: true\n  multiple_of: 256\n  micro_batch_size: 2\n"
      "  global_batch_size: 64\n  optimizer: {weight_decay: 0.1, lr_scheduler: {lr: 1e-4, lr_decay_style: cosine}}\n"
      "data:\n  data_path: a\n  tokenizer: {tokenizer_type: QwenTokenizerFS, vocab_size: 151851}\n",
      "7b.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.num_layers"), 24);
  EXPECT_EQ(report.whole("model.ffn_hidden_size"), 5632) << "two thirds of 8192, up to a multiple of 256";
  EXPECT_EQ(report.whole("model.vocab_size"), 151851);
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("batch.global"), 64);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_FALSE(report.has("gpus"));
}

TEST(KeyFiles, SectionsAloneAreNoFlagScale) {
  Findings findings;
  (void)read_launch_text(
      "system: {seed: 1}\nmodel: {num_layers: 12, hidden_size: 768, num_heads: 12}\n"
      "data: {batch_size: 8, seq_length: 1024}\n",
      "own.yaml", {}, findings);
  EXPECT_NE(lines_of(findings.complaints).find("expected a launch of"), std::string::npos);
}

TEST(KeyFiles, AListOfHydraIsNoKeyOfTheTraining) {
  const Report report = read_test_launch(
      "defaults: [data]\nsystem: {tensor_model_parallel_size: 2}\nmodel: {num_layers: 24, micro_batch_size: 2}\n",
      "7b.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("defaults"));
}

TEST(KeyFiles, WhatAnAbsentFileOfPrimusMayStateIsAsked) {
  const Report report = read_test_launch(
      "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: absent.yaml\n"
      "    overrides: {micro_batch_size: 2, tensor_model_parallel_size: 4}\n",
      "a.yaml");
  EXPECT_EQ(report.whole("parallelism.tensor"), 4);
  for (const char* key : {"precision", "optimizer.zero_stage", "parallelism.pipeline"})
    EXPECT_FALSE(report.has(key)) << key;
  EXPECT_FALSE(report.has("model.activation"));
  const Report whole = read_test_launch(
      "modules:\n  pre_trainer:\n    framework: megatron\n    overrides: {num_layers: 2, bf16: true}\n", "a.yaml");
  EXPECT_EQ(whole.whole("parallelism.pipeline"), 1) << "no other file is named";
}

// trainer_base.yaml sets bf16, without which weights beside fp8 have 32 bits.
TEST(KeyFiles, WeightsBesideFp8AreAskedForWhereAFileMayStateThem) {
  const auto read = [](const std::string& more) {
    return read_test_launch(
        "modules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n"
        "    overrides: {num_layers: 2, fp8: hybrid, grad_reduce_in_bf16: true, pipeline_model_parallel_size: 1" +
            more + "}\n",
        "a.yaml");
  };
  const Report report = read("");
  for (const char* key : {"precision", "overlap.grad_reduce", "optimizer.name", "parallelism.sequence_parallel"}) {
    EXPECT_TRUE(report.asks(key)) << key;
    EXPECT_FALSE(report.has(key)) << key;
  }
  EXPECT_FALSE(report.has("precision_recipe.weights"));
  EXPECT_FALSE(report.names("fp8-format"));
  EXPECT_EQ(report.at("precision_recipe.gradients"), Json("bf16"));
  EXPECT_TRUE(report.names("precision_recipe.gradients"));
  EXPECT_FALSE(report.asks("parallelism.virtual_pipeline")) << "one stage has no chunks";
  const Report stated = read(", bf16: true, overlap_grad_reduce: true, tensor_model_parallel_size: 1");
  for (const char* key : {"precision", "overlap.grad_reduce", "parallelism.sequence_parallel"})
    EXPECT_FALSE(stated.asks(key)) << key;
}

TEST(KeyFiles, FusionsOfMegatronCoreAreThoseOfTheRuntime) {
  const Report report = read_test_launch(
      "modules:\n  pre_trainer:\n    framework: megatron\n"
      "    overrides: {num_layers: 2, bf16: true, fused_single_qkv_rope: true, fused_residual_rmsnorm: false}\n",
      "a.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("fused-single-qkv-rope"));
}

// A trainer without settings of its own has those of a file that is not there.
TEST(KeyFiles, WhatAnAbsentBasisOfATrainerMayStateIsAsked) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "foretoken-primus-test";
  const std::filesystem::path modules = folder / "primus/configs/modules/megatron";
  std::filesystem::create_directories(modules);
  std::ofstream(modules / "tune.yaml") << "extends:\n  - ../absent.yaml\nmin_lr: 0.0\n";
  const Report report = read_test_launch(
      "modules:\n  post_trainer:\n    framework: megatron\n    config: tune.yaml\n    overrides: {num_layers: 2, "
      "hidden_size: 64, num_attention_heads: 4, seq_length: 128, micro_batch_size: 2, tensor_model_parallel_size: 1}\n",
      (folder / "a.yaml").string());
  std::filesystem::remove_all(folder);
  for (const char* key : {"precision", "precision_recipe.gradients", "optimizer.zero_stage", "recompute.granularity"})
    EXPECT_FALSE(report.has(key)) << key;
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) {
    return one.key == "precision" && one.because.find("../absent.yaml") != std::string::npos;
  }));
}

constexpr const char* kOfPrimus =
    "      num_layers: 4\n      hidden_size: 512\n      num_attention_heads: 8\n      seq_length: 512\n      bf16: "
    "true\n"
    "      micro_batch_size: 1\n      global_batch_size: 8\n";

Report read_post_trainer(const std::string& overrides) {
  return read_test_launch(
      std::string("modules:\n  post_trainer:\n    framework: megatron\n    overrides:\n") + kOfPrimus + overrides,
      "a.yaml");
}

TEST(KeyFiles, PrimusFineTunesInAModuleOfAnotherName) {
  const Report report = read_post_trainer(
      "      stage: sft\n      sft_dataset_name: a\n"
      "      lora: {enabled: true, dim: 16, alpha: 32, target_modules: [linear_qkv, linear_proj]}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.framework, "Megatron-LM by Primus");
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 16);
  EXPECT_EQ(report.at("training.targets"), Json::array({"linear_qkv", "linear_proj"}));
  EXPECT_FALSE(read_post_trainer("      lora: {enabled: false, dim: 16}\n").has("training"));
}

TEST(KeyFiles, AStageOfPrimusTrainsByItsName) {
  for (const char* stage : {"mlperf_pretrain", "pretrain", "my_sft"})
    EXPECT_EQ(refused_lines(read_post_trainer(std::string("      stage: ") + stage + "\n")), "") << stage;
  EXPECT_TRUE(read_post_trainer("      stage: mlperf_pretrain\n").names("--stage"));
  for (const char* stage : {"reward", "sft_distill", "dpo_pretrain"})
    EXPECT_NE(refused_lines(read_post_trainer(std::string("      stage: ") + stage + "\n")).find("--stage"),
              std::string::npos)
        << stage;
}

TEST(KeyFiles, AMisspeltExpertSizeOfPrimusIsNoExport) {
  const auto read = [](const std::string& size, const std::string& more) {
    return read_post_trainer(
        "      num_experts: 8\n      expert_model_parallel_size: 2\n"
        "      export_tensor_parallel_size: " +
        size + "\n" + more);
  };
  const auto asked = [](const Report& report) {
    return std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "parallelism.expert_tensor"; });
  };
  EXPECT_EQ(refused_lines(read("1", "")), "");
  EXPECT_FALSE(asked(read("1", "")));
  EXPECT_TRUE(asked(read("2", "")));
  const std::string tensor = "      tensor_model_parallel_size: 2\n";
  EXPECT_TRUE(asked(read("1", tensor))) << "Megatron-LM cuts experts in two";
  EXPECT_FALSE(asked(read("1", tensor + "      expert_tensor_parallel_size: 1\n")));
}

TEST(KeyFiles, PrimusNamesRanksThatFetchGradientsAndTakesSinksAsAttention) {
  EXPECT_NE(refused_lines(read_post_trainer("      enable_odc: true\n")).find("on demand"), std::string::npos);
  EXPECT_EQ(refused_lines(read_post_trainer("      enable_odc: false\n")), "");
  const Report sink = read_post_trainer("      use_sink_attention: true\n      sink_sliding_window: 0\n");
  EXPECT_EQ(refused_lines(sink), "");
  EXPECT_TRUE(sink.names("use_sink_attention")) << "all layers have full attention";
}

TEST(KeyFiles, ModulesOfAStashCountWithItsSwitch) {
  const std::string modules = "      stash_modules:\n        - moe_act\n";
  EXPECT_EQ(refused_lines(read_post_trainer(modules)), "");
  EXPECT_NE(refused_lines(read_post_trainer(modules + "      moe_paged_stash: true\n")).find("moe_paged_stash"),
            std::string::npos);
}

TEST(KeyFiles, LoraOfPrimusHasInitialisersWithoutEffect) {
  const Report report = read_post_trainer(
      "      lora:\n        enabled: true\n        dim: 16\n        dropout: 0.1\n        dropout_position: pre\n"
      "        lora_A_init_method: kaiming\n        lora_B_init_method: zero\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("lora.lora_A_init_method")) << "the file's own name";
}

// Four layers in two stages. The list counts them from 0 over the whole model.
TEST(KeyFiles, PrimusRecomputesTheListedLayers) {
  const auto read = [](const std::string& keys) {
    return read_post_trainer("      pipeline_model_parallel_size: 2\n      recompute_granularity: full\n" + keys);
  };
  const auto layers = [&](const std::string& ids) { return read("      recompute_layer_ids: " + ids + "\n"); };
  struct Case {
    const char *name, *ids, *method;
    int layers;
  };
  for (const auto& [name, ids, method, count] :
       {Case{"the first of each stage", "\"0,2\"", "block", 1}, Case{"a list, not in order", "[3, 1]", "block", 1},
        Case{"all", "\"0,1,2,3\"", "uniform", 1}}) {
    SCOPED_TRACE(name);
    const Report report = layers(ids);
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
    EXPECT_EQ(report.at("recompute.method"), Json(method));
    EXPECT_EQ(report.whole("recompute.layers"), count);
    EXPECT_TRUE(report.names("recompute.layers"));
  }
  for (const char* ids : {"\"0,1\"", "\"0\"", "\"0,2,4\""})
    EXPECT_NE(refused_lines(layers(ids)).find("of 4 layers are recomputed by their numbers"), std::string::npos) << ids;
  EXPECT_NE(refused_lines(layers("\"a\"")).find("expected numbers of layers"), std::string::npos);
  EXPECT_NE(refused_lines(read("      recompute_layer_ids: \"0,2\"\n      recompute_method: block\n"))
                .find("without recompute_method"),
            std::string::npos);
  EXPECT_EQ(refused_lines(read("      recompute_layer_ids: null\n")), "");
  // Layers of two kinds must be the first of their stage, as the method "block" takes them.
  EXPECT_NE(refused_lines(read("      num_experts: 8\n      recompute_layer_ids: \"1,3\"\n")).find("by their numbers"),
            std::string::npos);
}

// NVIDIA/Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py: validate_layer_layout
TEST(KeyFiles, ALayoutHoldsTheLayersOfPrediction) {
  const auto refused = [](const std::string& layout, const std::string& more) {
    return refused_lines(
        read_post_trainer("      pipeline_model_parallel_size: 2\n      pipeline_model_parallel_layout: "
                          "\"" +
                          layout + "\"\n" + more));
  };
  const std::string one = "      mtp_num_layers: 1\n";
  EXPECT_NE(refused("Ett|ttL", one).find("0 layers of multi-token prediction (m) stand in the layout, and 1 in"),
            std::string::npos);
  EXPECT_EQ(refused("Ett|ttmL", one).find("multi-token"), std::string::npos);
  EXPECT_EQ(refused("Ett|ttL", ""), "");
  EXPECT_NE(refused("Ett|ttmL", "").find("1 layers of multi-token prediction (m) stand in the layout, and 0 in"),
            std::string::npos)
      << "without the key there are none";
  EXPECT_NE(refused("Ett|ttmL", "      mtp_num_layers: null\n").find("and 0 in"), std::string::npos);
}

// The model's own file may state the layers of prediction.
TEST(KeyFiles, ALayoutBesideAnAbsentFileAsksForTheLayersOfPrediction) {
  const Report report = read_test_launch(
      std::string("modules:\n  pre_trainer:\n    framework: megatron\n    model: absent_3b.yaml\n    overrides:\n") +
          kOfPrimus + "      pipeline_model_parallel_size: 2\n      pipeline_model_parallel_layout: \"Ett|ttmL\"\n",
      "a.yaml");
  EXPECT_EQ(refused_lines(report).find("multi-token"), std::string::npos) << refused_lines(report);
  EXPECT_NE(std::ranges::find(report.asked, "model.mtp_num_layers", &Asked::key), report.asked.end());
}

TEST(KeyFiles, TurboOfPrimusExchangesTokensByDeepEp) {
  const auto dispatcher = [](const std::string& turbo, const char* tensor) {
    return read_post_trainer("      num_experts: 8\n      moe_token_dispatcher_type: alltoall\n" + turbo +
                             "      tensor_model_parallel_size: " + tensor + "\n")
        .at("moe.dispatcher");
  };
  const std::string both = "      enable_primus_turbo: true\n      use_turbo_deepep: true\n";
  EXPECT_EQ(dispatcher(both, "1"), Json("deepep"));
  EXPECT_EQ(dispatcher(both, "2"), Json("all-to-all")) << "the patch needs a tensor size of 1";
  EXPECT_EQ(dispatcher("      use_turbo_deepep: true\n", "1"), Json("all-to-all")) << "the library is off";
}

TEST(KeyFiles, ABlockOfNoLayersRecomputesNothing) {
  const Report report = read_post_trainer(
      "      recompute_granularity: full\n      recompute_method: block\n      recompute_num_layers: 0\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("recompute"), Json({{"granularity", "none"}}));
}

}  // namespace
}  // namespace foretoken::io::launch::megatron
