// Tests configurations of Megatron-Bridge.
#include "sim/io/import/launch/bridge/read_bridge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::bridge {
namespace {

Report read_overrides(const std::string& sections) {
  return read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 8}\nmodel: {tensor_model_parallel_size: 1, "
      "pipeline_model_parallel_size: 1, seq_length: 2048}\n" +
          sections,
      "overrides.yaml");
}

// comm_overlap is written over ddp at the start; its nulls are not.
TEST(ReadBridge, OverlapsOfItsOwnSectionCount) {
  const Report on = read_overrides("comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: false}\n");
  EXPECT_EQ(on.at("overlap.grad_reduce"), Json(true));
  EXPECT_EQ(on.at("overlap.param_gather"), Json(false));
  const Report off = read_overrides(
      "ddp: {overlap_grad_reduce: true, use_distributed_optimizer: true}\ncomm_overlap: {overlap_grad_reduce: "
      "false}\n");
  EXPECT_EQ(off.at("overlap.grad_reduce"), Json(false));
  const Report kept = read_overrides("ddp: {overlap_grad_reduce: true}\ncomm_overlap: {overlap_grad_reduce: null}\n");
  EXPECT_EQ(kept.at("overlap.grad_reduce"), Json(true));
}

TEST(ReadBridge, TheOptimizerStatesThePrecisionWhereNothingElseDoes) {
  const auto precision = [](const std::string& rest) {
    return read_test_launch(
               "train: {train_iters: 10, global_batch_size: 8, micro_batch_size: 1}\n"
               "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 128}\n" +
                   rest,
               "a.yaml")
        .at("precision");
  };
  EXPECT_EQ(precision("optimizer: {bf16: true}\n"), Json("bf16"));
  EXPECT_EQ(precision("optimizer: {bf16: true}\nmixed_precision: fp16_mixed\n"), Json("fp16"));
}

TEST(ReadBridge, FusionsOfMegatronCoreAreThoseOfTheRuntime) {
  const Report report = read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 8}\nmodel: {seq_length: 2048, fused_single_qkv_rope: true, "
      "mla_down_proj_fusion: true, memory_efficient_layer_norm: true, moe_permute_fusion: false}\n",
      "overrides.yaml");
  EXPECT_EQ(refused_lines(report), "");
  for (const char* key : {"model.fused_single_qkv_rope", "model.mla_down_proj_fusion"})
    EXPECT_EQ(std::ranges::count(report.assumed, key, &Assumed::key), 1) << key;
  EXPECT_EQ(std::ranges::count(report.ignored, "model.moe_permute_fusion", &Ignored::setting), 1);
}

TEST(ReadBridge, EveryKeyOfThePrecisionStandsInTheReport) {
  const Report report = read_overrides(
      "mixed_precision: {dtype: bf16, first_last_layers_bf16: true, fp8_margin: 0, hysteresis: 2, "
      "fp8_dot_product_attention: true, new_recipe: 3}\n");
  EXPECT_EQ(refused_lines(report).find("mixed_precision.new_recipe: an unknown key"), 0U) << refused_lines(report);
  for (const char* key : {"mixed_precision.dtype", "mixed_precision.first_last_layers_bf16"})
    EXPECT_TRUE(std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == key; })) << key;
  for (const char* key : {"mixed_precision.fp8_margin", "mixed_precision.hysteresis"})
    EXPECT_TRUE(std::ranges::any_of(report.ignored, [&](const Ignored& one) { return one.setting == key; })) << key;
  EXPECT_EQ(report.at("precision_recipe.attention"), Json("fp8"));
}

// A proxy of fewer layers has the width, precision and optimizer of its recipe.
TEST(ReadBridge, OverridesOfTheLayersAreNoWholeModel) {
  const Report report = read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 16}\nmodel: {num_layers: 6, num_moe_experts: 32, "
      "moe_layer_freq: [0, 1, 1, 1, 1, 1], tensor_model_parallel_size: 2, seq_length: 2048, qk_clip: true}\n",
      "proxy.yaml");
  EXPECT_EQ(report.whole("model.num_layers"), 6);
  EXPECT_EQ(report.whole("model.num_experts"), 32);
  for (const char* key : {"precision", "optimizer.zero_stage", "model.normalization", "dropout", "moe.dispatcher"})
    EXPECT_FALSE(report.has(key)) << key << " comes from the recipe";
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "model.hidden_size"; }));
  EXPECT_NE(refused_lines(report).find("--qk-clip"), std::string::npos);
}

TEST(ReadBridge, RowsOfDeepSeekHaveTheLayoutAndTheRecomputingOfTheirRecipe) {
  const auto read = [](const std::string& degrees) {
    return read_test_launch(
        "perf_matrix:\n  h100:\n    num_gpus_1024:\n      common: {seq_length: 4096, mbs: 1, gbs: "
        "2048, tp: 2, ep: 64, " +
            degrees + "}\n      bf16:\n",
        "deepseek_v3_llm_pretrain.yaml");
  };
  const Report report = read("pp: 8, vp: 2");
  EXPECT_EQ(report.at("recompute.granularity"), Json("selective"));
  EXPECT_EQ(report.at("parallelism.layers_per_stage"), Json({4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1}));
  EXPECT_EQ(read("pp: 4, vp: null").at("parallelism.layers_per_stage"), Json({16, 16, 16, 13}));
  const Report other = read("pp: 2, vp: 3");
  EXPECT_TRUE(std::ranges::any_of(other.asked, [](const Asked& one) {
    return one.key == "parallelism.layers_per_stage" && one.because.find("2 stages of 3 chunks") != std::string::npos;
  }));
}

TEST(ReadBridge, TheContainerBesideRowsHoldsForThem) {
  const auto read = [](const std::string& container) {
    return read_test_launch("ConfigContainer:\n" + container +
                                "perf_matrix:\n  h100:\n    num_gpus_64:\n      common: {seq_length: 4096, mbs: 1, "
                                "gbs: 64, tp: 2, pp: 1}\n      bf16:\n",
                            "llama3_8b_llm_pretrain.yaml");
  };
  const Report plain = read("  logger: {log_interval: 1}\n");
  EXPECT_EQ(refused_lines(plain), "");
  EXPECT_EQ(plain.at("overlap.grad_reduce"), Json(true));
  EXPECT_EQ(plain.at("precision_recipe.gradients"), Json("bf16"));
  const Report sizes =
      read("  model: {seq_length: 4096, context_parallel_size: 2}\n  train: {global_batch_size: 32}\n");
  EXPECT_EQ(refused_lines(sizes), "");
  EXPECT_EQ(sizes.whole("parallelism.context"), 2);
  EXPECT_EQ(sizes.whole("batch.global"), 64) << "the row wins";
  EXPECT_TRUE(sizes.names("train.global_batch_size"));
  EXPECT_FALSE(sizes.names("model.seq_length"));
  const Report off = read(
      "  ddp: {overlap_grad_reduce: true, overlap_param_gather: false}\n  comm_overlap: {overlap_grad_reduce: false}\n"
      "  mixed_precision: {grad_reduce_in_fp32: true}\n  model: {cross_entropy_fusion_impl: te}\n");
  EXPECT_EQ(refused_lines(off), "");
  EXPECT_EQ(off.at("overlap.grad_reduce"), Json(false)) << "comm_overlap wins over ddp";
  EXPECT_EQ(off.at("overlap.param_gather"), Json(false));
  EXPECT_EQ(off.at("precision_recipe.gradients"), Json("fp32"));
  EXPECT_TRUE(off.names("model.cross_entropy_fusion_impl"));
  EXPECT_NE(refused_lines(read("  model: {num_layers: 4}\n")).find("model.num_layers"), std::string::npos);
}

TEST(ReadBridge, RowsOfFp8KeepWeightsInItsFormat) {
  const auto weights = [](const std::string& type) {
    return read_test_launch(
               "perf_matrix:\n  h100:\n    num_gpus_64:\n      common: {seq_length: 4096, mbs: 1, gbs: 64}\n      " +
                   type + ":\n",
               "llama3_8b_llm_pretrain.yaml")
        .at("precision_recipe.weights");
  };
  EXPECT_EQ(weights("fp8_cs"), Json("fp8"));
  EXPECT_EQ(weights("fp8_mx"), Json("fp8"));
  EXPECT_EQ(weights("fp8_sc"), Json(nullptr));
  EXPECT_EQ(weights("bf16"), Json(nullptr));
}

TEST(ReadBridge, LayersOfARowAreOnTheHost) {
  const Report report = read_test_launch(
      "perf_matrix:\n  h100:\n    num_gpus_64:\n      common: {seq_length: 4096, mbs: 1, gbs: 64, "
      "use_megatron_fsdp: true, cpu_offloading_num_layers: 12}\n      bf16:\n",
      "llama3_8b_llm_pretrain.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("offload.activations"), (Json{{"layers", 12}, {"to", "cpu"}}));
}

// mixed_precision of the recipe is put over ddp.
TEST(ReadBridge, GradientsOfAnOverrideInDdpAloneAreAskedFor) {
  for (const char* const wide : {"true", "false"}) {
    const Report report = read_test_launch(
        std::string("model: {seq_length: 2048}\ntrain: {micro_batch_size: 1, global_batch_size: 8}\nddp: "
                    "{grad_reduce_in_fp32: ") +
            wide + "}\n",
        "override.yaml");
    EXPECT_FALSE(report.has("precision_recipe.gradients")) << wide;
    EXPECT_TRUE(report.asks("precision_recipe.gradients")) << wide;
  }
}

TEST(ReadBridge, AdaptersAreThoseOfItsLora) {
  const Report report = read_overrides("peft: {dim: 8, alpha: 16, target_modules: [linear_qkv, linear_fc2]}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 8);
  EXPECT_EQ(report.at("training.targets"), Json::array({"linear_qkv", "linear_fc2"}));
  const Report plain = read_overrides("peft: {_target_: megatron.bridge.peft.lora.LoRA}\n");
  EXPECT_FALSE(plain.has("training.rank")) << "it is asked for";
  EXPECT_EQ(plain.at("runtime"), Json("megatron-lora"));
  EXPECT_NE(refused_lines(read_overrides("peft: {_target_: megatron.bridge.peft.dora.DoRA, dim: 8}\n")).find("DoRA"),
            std::string::npos);
  EXPECT_NE(refused_lines(read_overrides("peft: {block_size: 32}\n")).find("OFT"), std::string::npos);
  EXPECT_FALSE(read_overrides("peft: null\n").has("training"));
}

TEST(ReadBridge, ABlockOfNoLayersRecomputesNothing) {
  const Report report = read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 8}\nmodel: {seq_length: 2048, recompute_granularity: full, "
      "recompute_method: block, recompute_num_layers: 0}\n",
      "overrides.yaml");
  EXPECT_EQ(report.at("recompute"), Json({{"granularity", "none"}}));
}

// No degree of the tensor ranks is taken for the experts: recipes state one of their own.
TEST(ReadBridge, WhatTheRecipeDecidesIsAskedForAtOnce) {
  const auto asks = [](const Report& report, const std::string& key) {
    return std::ranges::any_of(report.asked, [&](const Asked& one) { return one.key == key; });
  };
  const std::string run = "train: {micro_batch_size: 1, global_batch_size: 16}\nmodel: {num_layers: 6, ",
                    experts = "num_moe_experts: 32, expert_model_parallel_size: 4, tensor_model_parallel_size: 2}\n";
  const Report report = read_test_launch(run + experts, "proxy.yaml");
  EXPECT_EQ(refused_lines(report), "");
  for (const char* key :
       {"model.num_attention_heads", "model.ffn_hidden_size", "model.moe_router_topk", "model.max_position_embeddings",
        "recompute.granularity", "optimizer.zero_stage", "parallelism.expert_tensor"})
    EXPECT_TRUE(asks(report, key)) << key;
  EXPECT_FALSE(asks(read_test_launch(run + "expert_tensor_parallel_size: 1, " + experts, "proxy.yaml"),
                    "parallelism.expert_tensor"));
  EXPECT_FALSE(asks(read_test_launch(run + "seq_length: 2048}\n", "proxy.yaml"), "model.moe_router_topk"));
}

Report read_whole(const std::string& model, const std::string& rest,
                  const std::vector<std::pair<std::string, std::string>>& variables = {}) {
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr"};
  launch.variables = variables;
  Report report = read_launch_text(
      "train: {train_iters: 10, global_batch_size: 8, micro_batch_size: 1}\n"
      "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 128, " +
          model + "}\n" + rest,
      "a.yaml", launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::string question_of(const Report& report, const std::string& key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  return found == report.asked.end() ? "" : found->because;
}

TEST(ReadBridge, TheModelStatesThePrecisionWithoutASection) {
  const char* const kGradients = "precision_recipe.gradients";
  const Report alone = read_whole("bf16: true", "");
  EXPECT_EQ(alone.at("precision"), Json("bf16"));
  EXPECT_EQ(alone.at(kGradients), Json("fp32"));
  EXPECT_EQ(read_whole("bf16: true", "mixed_precision: null\n").at(kGradients), Json("bf16"));
  EXPECT_EQ(read_whole("bf16: true", "ddp: {grad_reduce_in_fp32: false}\n").at(kGradients), Json("bf16"));
  EXPECT_EQ(read_whole("bf16: true", "mixed_precision: null\nddp: {grad_reduce_in_fp32: true}\n").at(kGradients),
            Json("fp32"));
  EXPECT_EQ(read_whole("fp16: true", "mixed_precision: null\n").at("precision"), Json("fp16"));
  // The section overwrites both.
  const Report section = read_whole("fp16: true", "mixed_precision: bf16_mixed\nddp: {grad_reduce_in_fp32: false}\n");
  EXPECT_EQ(section.at("precision"), Json("bf16"));
  EXPECT_EQ(section.at(kGradients), Json("fp32"));
  const auto line = std::ranges::find(section.assumed, "ddp.grad_reduce_in_fp32", &Assumed::key);
  ASSERT_NE(line, section.assumed.end());
  EXPECT_NE(line->because.find("overwrites"), std::string::npos) << line->because;
  EXPECT_EQ(read_overrides("mixed_precision: null\noptimizer: {bf16: true}\n").at("precision"), Json("bf16"));
}

TEST(ReadBridge, RecipesOfPrecisionAreReadByTheirNames) {
  struct Case {
    const char *name, *precision, *recipe;
  };
  constexpr Case kCases[] = {{"bf16_with_fp8_current_scaling_mixed", "fp8", "tensorwise"},
                             {"bf16-with-fp8-delayed-scaling-mixed", "fp8", "delayed"},
                             {"fp16_with_fp8_subchannel_scaling_mixed", "fp8", "blockwise"},
                             {"nanov2_bf16_with_fp8_current_scaling_mixed", "fp8", "blockwise"},
                             {"bf16_with_mxfp8_mixed", "mxfp8", "mxfp8"},
                             {"bf16_with_nvfp4_mixed", "nvfp4", ""}};
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const Report report = read_whole("gated_linear_unit: true", std::string("mixed_precision: ") + one.name + "\n");
    EXPECT_EQ(refused_lines(report), "");
    EXPECT_EQ(report.at("precision"), Json(one.precision));
    if (*one.recipe != '\0') EXPECT_EQ(report.at("precision_recipe.fp8_recipe"), Json(one.recipe));
  }
  EXPECT_NE(refused_lines(read_overrides("mixed_precision: bf16_of_ours\n")).find("an unknown recipe"),
            std::string::npos);
}

TEST(ReadBridge, ReferencesAndVariablesAreFilledIn) {
  const std::string model =
      "max_position_embeddings: '${model.seq_length}', tensor_model_parallel_size: '${TP}', "
      "virtual_pipeline_model_parallel_size: '${oc.env:VPP}', pipeline_model_parallel_size: '${PP}', "
      "sequence_parallel: true, add_bias_linear: '${BIAS}', hf_path: '${HOME}/m'";
  const Report open = read_whole(model, "");
  EXPECT_EQ(refused_lines(open).find("whole number"), std::string::npos) << refused_lines(open);
  EXPECT_EQ(open.whole("model.max_position_embeddings"), 128);
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.virtual_pipeline", "overlap.p2p",
                          "model.add_bias_linear"})
    EXPECT_FALSE(open.has(key)) << key;
  EXPECT_NE(question_of(open, "parallelism.tensor").find("--env TP=VALUE"), std::string::npos);
  EXPECT_NE(question_of(open, "parallelism.virtual_pipeline").find("--env VPP=VALUE"), std::string::npos);
  EXPECT_NE(question_of(open, "model.add_bias_linear").find("--env BIAS=VALUE"), std::string::npos);
  EXPECT_EQ(open.at("parallelism.sequence_parallel"), Json(true));
  const Report stated = read_whole(model, "", {{"TP", "2"}, {"PP", "1"}, {"VPP", "null"}, {"BIAS", "false"}});
  EXPECT_EQ(stated.whole("parallelism.tensor"), 2);
  EXPECT_EQ(stated.whole("parallelism.virtual_pipeline"), 1);
  EXPECT_EQ(stated.at("model.add_bias_linear"), Json(false));
  // A switch without a key of its own is refused by name.
  EXPECT_NE(refused_lines(read_whole("cpu_offloading: '${OFF}'", "")).find("model.cpu_offloading: its value is"),
            std::string::npos);
}

// A repeated variable has its last value in both languages.
TEST(ReadBridge, JsonReadsVariablesAsYamlDoes) {
  const std::string text = R"({"train": {"train_iters": 10, "global_batch_size": 8, "micro_batch_size": 1},
    "model": {"num_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "seq_length": 128,
              "tensor_model_parallel_size": "${TP}", "pipeline_model_parallel_size": "${oc.env:PP,1}",
              "context_parallel_size": "${CP}"},
    "CP": "1"})";
  for (const char* name : {"a.json", "a.yaml"}) {
    SCOPED_TRACE(name);
    Findings findings;
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr"};
    launch.variables = {{"TP", "4"}, {"TP", "2"}, {"PP", "2"}, {"CP", "2"}};
    const Report report = read_launch_text(text, name, launch, findings);
    EXPECT_EQ(lines_of(findings.complaints), "");
    EXPECT_EQ(report.whole("parallelism.tensor"), 2);
    EXPECT_EQ(report.whole("parallelism.pipeline"), 2);
    EXPECT_EQ(report.whole("parallelism.context"), 1) << "a key of the document";
    launch.variables.clear();
    EXPECT_NE(question_of(read_launch_text(text, name, launch, findings), "parallelism.tensor").find("--env TP=VALUE"),
              std::string::npos);
  }
}

TEST(ReadBridge, LongTextsWithoutAnEndAreReadAtOnce) {
  std::string open;
  for (int i = 0; i < 200'000; ++i) open += "${";
  const Report report = read_whole("hf_path: '" + open + "'", "");
  EXPECT_EQ(report.whole("model.num_layers"), 2);
}

TEST(ReadBridge, SectionsBesideTheContainerArePassedOver) {
  const Report report = read_whole("seq_len_interpolation_factor: 1",
                                   "ENV_VARS: {NVTE_FLASH_ATTN: 1, NCCL_DEBUG: INFO}\n"
                                   "our_cluster: {hostname: a, user_path: /b, dir: '${our_cluster.user_path}/c'}\n");
  EXPECT_EQ(refused_lines(report), "");
  const std::string costly = refused_lines(read_whole("bf16: true", "our_cluster: {gpus_per_node: 4}\n"));
  EXPECT_NE(costly.find("our_cluster.gpus_per_node: an unknown key"), std::string::npos) << costly;
}

TEST(ReadBridge, ModelsOfImagesAreRefused) {
  for (const char* key : {"freeze_vision_model: false", "freeze_language_model: true", "image_token_id: 7"}) {
    const std::string lines = refused_lines(read_whole(key, ""));
    EXPECT_NE(lines.find("a multimodal model"), std::string::npos) << key;
  }
  EXPECT_EQ(refused_lines(read_whole("freeze_vision_model: null", "")), "");
}

TEST(ReadBridge, AVocabularyOfTheTokenizerHasItsOwnMultiple) {
  const std::string divisor = "tensor_model_parallel_size: 2, make_vocab_size_divisible_by: 1187";
  EXPECT_NE(question_of(read_whole(divisor, ""), "model.vocab_size").find("1187 x tensor 2 = 2374"), std::string::npos);
  EXPECT_EQ(read_whole(divisor + ", vocab_size: 151900", "").whole("model.vocab_size"), 151900)
      << "a stated one is not padded";
}

TEST(ReadBridge, OrderOfRanksAndNarrowInputsAreNamed) {
  const std::string order = "dist: {use_tp_pp_dp_mapping: true}\n";
  const auto noted = [](const Report& report, const char* setting) {
    return std::ranges::any_of(report.assumed, [&](const Assumed& one) { return one.key == setting; });
  };
  const Report report = read_whole("pipeline_model_parallel_size: 2, activation_func_fp8_input_store: true", order);
  EXPECT_TRUE(noted(report, "--use-tp-pp-dp-mapping"));
  EXPECT_TRUE(noted(report, "--activation-func-fp8-input-store"));
  EXPECT_FALSE(noted(read_whole("pipeline_model_parallel_size: 1", order), "--use-tp-pp-dp-mapping"));
}

// megatron/core/distributed/fsdp/src/README.md: keep_fp8_transpose_cache takes a byte a parameter.
TEST(ReadBridge, TransposedWeightsThatStayAreNamed) {
  const auto because = [](const Report& report, const std::string& key) {
    const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
    return found == report.assumed.end() ? std::string() : found->because;
  };
  const auto row = [](const std::string& fsdp) {
    return read_test_launch(
        "perf_matrix:\n  h100:\n    num_gpus_8:\n      common: {seq_length: 4096, mbs: 1, gbs: "
        "64, use_megatron_fsdp: " +
            fsdp + ", keep_fp8_transpose_cache_when_using_custom_fsdp: true}\n      fp8_cs:\n",
        "llama3_8b_llm_pretrain.yaml");
  };
  const std::string key = "keep_fp8_transpose_cache_when_using_custom_fsdp";
  EXPECT_EQ(refused_lines(row("true")), "");
  EXPECT_NE(because(row("true"), key).find("one byte a parameter"), std::string::npos);
  EXPECT_EQ(because(row("false"), key), "");
  const Report whole = read_whole("pipeline_model_parallel_size: 1", "ddp: {keep_fp8_transpose_cache: true}\n");
  EXPECT_NE(because(whole, "ddp.keep_fp8_transpose_cache").find("one byte a parameter"), std::string::npos);
}

TEST(ReadBridge, ATeacherMeansDistillation) {
  EXPECT_NE(refused_lines(read_whole("pipeline_model_parallel_size: 1, teacher: {num_layers: 4}", ""))
                .find("model.teacher.num_layers: distillation"),
            std::string::npos);
}

TEST(ReadBridge, TensorRanksOfExpertsAreAskedForWhereTheTensorSizeIs) {
  const auto why = [](const std::string& model, const std::string& key) {
    const Report report = read_test_launch(
        "train: {micro_batch_size: 1, global_batch_size: 16}\nmodel: {num_layers: 6, num_moe_experts: 32" + model +
            "}\n",
        "proxy.yaml");
    const auto found = std::ranges::find(report.asked, key, &Asked::key);
    return found == report.asked.end() ? std::string() : found->because;
  };
  EXPECT_NE(why("", "parallelism.expert_tensor"), "") << "nobody states a tensor size";
  EXPECT_EQ(why(", tensor_model_parallel_size: 1", "parallelism.expert_tensor"), "");
  EXPECT_EQ(why("", "model.moe_router_topk"), "the recipe that the overrides belong to decides");
}

TEST(ReadBridge, SectionsOfTheFirstContainerHaveOtherNames) {
  const Report report = read_test_launch(
      "model_config: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2}\n"
      "train_config: {train_iters: 10, global_batch_size: 256, micro_batch_size: 4, eval_interval: 5}\n"
      "ddp_config: {grad_reduce_in_fp32: true}\noptimizer_config: {lr: 0.1}\n",
      "a.yaml");
  EXPECT_EQ(report.framework, "Megatron-Bridge");
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("batch.global"), 256);
  EXPECT_TRUE(report.names("train_config.eval_interval")) << "as the file spells it";
  EXPECT_FALSE(report.names("train.eval_interval"));
  const auto precision = std::ranges::find(report.asked, "precision", &Asked::key);
  ASSERT_NE(precision, report.asked.end());
  EXPECT_EQ(precision->because.find("--bf16"), std::string::npos) << "the file has no flags";
}

TEST(ReadBridge, RowsOfOtherMachinesAreNoted) {
  const std::string matrix =
      "perf_matrix: {gb200: {num_gpus_64: {common: {tp: 2, pp: 4, mbs: 1, gbs: 128, seq_length: 8192, "
      "num_gpus_per_node: 4}, bf16: {}}}}\n";
  const Report report = read_test_launch(matrix, "llama3_70b_llm_pretrain.yaml");
  const auto note = [&](const char* key) {
    const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
    return found == report.assumed.end() ? std::string() : found->because;
  };
  EXPECT_NE(note("GPU").find("gb200; dgx-h100-ndr has h100"), std::string::npos) << note("GPU");
  EXPECT_NE(note("ranks of a node").find("4 on a node, and a node of dgx-h100-ndr has 8"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::io::launch::bridge
