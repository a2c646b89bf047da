// Tests parts of recipes: builders with sizes, optimizers of bitsandbytes, unfused attention, devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

Report read_torchtune_recipe(const std::string& model, const std::string& rest) {
  return read_test_launch(
      "tokenizer: {_component_: torchtune.models.llama2.llama2_tokenizer, max_seq_len: 2048}\n"
      "batch_size: 2\ndtype: bf16\nenable_activation_checkpointing: true\nmodel: " +
          model + "\n" + rest + "\n",
      "recipe.yaml");
}

constexpr const char* kSmall =
    "vocab_size: 32000, num_layers: 4, num_heads: 16, num_kv_heads: 4, embed_dim: 1024, max_seq_len: 2048";

TEST(TorchtuneRecipe, ABuilderTakesItsSizesFromTheFile) {
  const auto model = [](const std::string& component, const std::string& more) {
    const Report report =
        read_torchtune_recipe("{_component_: torchtune.models." + component + ", " + kSmall + more + "}",
                              "optimizer: {_component_: torch.optim.AdamW}");
    EXPECT_EQ(refused_lines(report), "") << component;
    return report.at("model");
  };
  const Json llama = model("llama2.llama2", "");
  EXPECT_EQ(llama["model_type"], "llama");
  EXPECT_EQ(llama["num_hidden_layers"], 4);
  EXPECT_EQ(llama["num_key_value_heads"], 4);
  EXPECT_EQ(llama["intermediate_size"], 2816) << "4 x 682, rounded up to 256";
  EXPECT_EQ(llama["tie_word_embeddings"], false);
  EXPECT_EQ(model("llama3.lora_llama3", ", intermediate_dim: 4096, lora_rank: 8")["intermediate_size"], 4096);
  EXPECT_EQ(model("qwen2.qwen2", ", intermediate_dim: 4096, tie_word_embeddings: true")["tie_word_embeddings"], true);
  EXPECT_EQ(model("mistral.mistral", ", intermediate_dim: 4096")["model_type"], "mistral");
  const Json gemma = model("gemma.gemma", ", intermediate_dim: 4096, head_dim: 256");
  EXPECT_EQ(gemma["head_dim"], 256);
  EXPECT_EQ(gemma["tie_word_embeddings"], true);
}

// torchtune/models/llama3_2/_model_builders.py: llama3_2_3b() takes no arguments.
TEST(TorchtuneRecipe, ABuilderWithoutLoraTakesNoKeyOfIt) {
  const auto read = [](const std::string& model) {
    return read_torchtune_recipe("{_component_: torchtune.models." + model + "}",
                                 "optimizer: {_component_: torch.optim.AdamW}");
  };
  const std::string keys = ", lora_attn_modules: [q_proj, v_proj], lora_rank: 8, lora_alpha: 16";
  const Report plain = read("llama3_2.llama3_2_3b" + keys);
  EXPECT_EQ(plain.refused.size(), 1U);
  EXPECT_THAT(refused_lines(plain), HasSubstr("model.lora_rank: the builder \"llama3_2_3b\" takes no key of LoRA"));
  EXPECT_FALSE(plain.has("training.method"));
  EXPECT_THAT(refused_lines(read("llama3_2.llama3_2_3b, apply_lora_to_mlp: false")), HasSubstr("apply_lora_to_mlp"));
  EXPECT_THAT(refused_lines(read(std::string("llama2.llama2, ") + kSmall + ", lora_rank: 8")), HasSubstr("lora_rank"));
  EXPECT_EQ(refused_lines(read("llama3_2.llama3_2_3b")), "");
  const Report adapters = read("llama3_2.lora_llama3_2_3b" + keys);
  EXPECT_EQ(refused_lines(adapters), "");
  EXPECT_EQ(adapters.at("training.method"), Json("lora"));
}

TEST(TorchtuneRecipe, AComputedWidthIsAssumed) {
  const auto assumed = [](const std::string& more) {
    const Report report =
        read_torchtune_recipe("{_component_: torchtune.models.llama3.llama3, " + std::string(kSmall) + more + "}",
                              "optimizer: {_component_: torch.optim.AdamW}");
    EXPECT_TRUE(std::ranges::none_of(report.asked, [](const Asked& one) { return one.key == "model"; }));
    std::string keys;
    for (const Assumed& one : report.assumed)
      if (one.key.starts_with("model.")) keys += one.key + "=" + one.value;
    return keys;
  };
  EXPECT_EQ(assumed(""), "model.intermediate_size=2816");
  EXPECT_EQ(assumed(", intermediate_dim: 4096"), "");
}

TEST(TorchtuneRecipe, SizesThatABuilderDoesNotComputeAreAskedFor) {
  constexpr const char* kFew = "vocab_size: 32000, num_layers: 4, num_heads: 16, embed_dim: 1024, max_seq_len: 2048";
  const auto why = [](const std::string& component, const std::string& keys) {
    const Report report = read_torchtune_recipe("{_component_: torchtune.models." + component + ", " + keys + "}",
                                                "optimizer: {_component_: torch.optim.AdamW}");
    EXPECT_FALSE(report.has("model")) << component << keys;
    for (const Asked& one : report.asked)
      if (one.key == "model") return one.because;
    return std::string();
  };
  const std::string few(kFew);
  for (const char* component : {"mistral.mistral", "gemma.gemma", "qwen2.qwen2", "qwen2.lora_qwen2"}) {
    EXPECT_THAT(why(component, few + ", intermediate_dim: 4096"), HasSubstr("model.num_kv_heads")) << component;
    EXPECT_THAT(why(component, few + ", num_kv_heads: 4"), HasSubstr("model.intermediate_dim")) << component;
  }
  EXPECT_THAT(why("gemma.gemma", few + ", num_kv_heads: 4, intermediate_dim: 4096"), HasSubstr("model.head_dim"));
  EXPECT_THAT(why("llama3.llama3", few), HasSubstr("model.num_kv_heads"));
}

TEST(TorchtuneRecipe, OtherPartsOfTheModelAreRefused) {
  const auto refused = [](const std::string& more) {
    return refused_lines(
        read_torchtune_recipe("{_component_: torchtune.models.llama3.llama3, " + std::string(kSmall) + more + "}",
                              "optimizer: {_component_: torch.optim.AdamW}"));
  };
  for (const char* key : {"moe_every_n", "num_experts", "window_size"}) {
    const std::string lines = refused(std::string(", ") + key + ": 8");
    EXPECT_THAT(lines, HasSubstr("model." + std::string(key) + ": an unknown key of the model")) << key;
    EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << key;
    EXPECT_EQ(refused(std::string(", ") + key + ": null"), "");
  }
  EXPECT_THAT(refused(", moe: {num_experts: 8}"), HasSubstr("model.moe.num_experts"));
  EXPECT_THAT(refused(", use_dora: true"), HasSubstr("DoRA"));
  EXPECT_EQ(refused(", norm_eps: 1e-5, rope_base: 500000"), "");
}

TEST(TorchtuneRecipe, ProductsInFp8AreRefused) {
  const auto refused = [](const std::string& on) {
    return refused_lines(read_torchtune_recipe(
        "{_component_: torchtune.models.llama3.llama3_8b}",
        "optimizer: {_component_: torch.optim.AdamW}\nenable_fp8_training: " + on + "\nfp8_recipe_name: tensorwise"));
  };
  EXPECT_THAT(refused("true"), HasSubstr("enable_fp8_training: products in fp8"));
  EXPECT_EQ(refused("false"), "");
}

TEST(TorchtuneRecipe, DropoutOfAttentionIsMapped) {
  const auto read = [](const std::string& model) {
    return read_torchtune_recipe("{_component_: torchtune.models." + model + "}",
                                 "optimizer: {_component_: torch.optim.AdamW}");
  };
  const std::string small(kSmall);
  EXPECT_EQ(read("llama3.llama3, " + small + ", attn_dropout: 0.1").at("model.attention_dropout"), Json(0.1));
  EXPECT_FALSE(read("llama3.llama3, " + small + ", attn_dropout: 0.0").has("model.attention_dropout"));
  EXPECT_EQ(read("qwen2_5.qwen2_5_7b, attn_dropout: 0.1").at("model.attention_dropout"), Json(0.1));
  EXPECT_THAT(refused_lines(read("llama3.llama3_8b, attn_dropout: 0.1")), HasSubstr("model.attn_dropout"));
  EXPECT_EQ(refused_lines(read("llama3.llama3_8b, attn_dropout: 0.0")), "");
}

TEST(TorchtuneRecipe, ASizeThatTheFileLacksIsAskedFor) {
  const Report report =
      read_torchtune_recipe("{_component_: torchtune.models.llama2.llama2, num_layers: 4}", "optimizer: {}");
  EXPECT_EQ(report.asked.front().key, "model");
  EXPECT_THAT(report.asked.front().because, HasSubstr("model.embed_dim"));
}

TEST(TorchtuneRecipe, AnOptimizerIsChosenByItsName) {
  const std::string sections =
      "optimizer:\n  plain: {_component_: torch.optim.AdamW, lr: 1e-5}\n"
      "  other: {_component_: own.optimizers.Muon, lr: 1e-5}\n";
  const std::string model = "{_component_: torchtune.models.llama3_1.llama3_1_8b}";
  EXPECT_EQ(read_torchtune_recipe(model, sections + "optimizer_name: plain").at("optimizer.name"), Json("adam"));
  EXPECT_THAT(refused_lines(read_torchtune_recipe(model, sections + "optimizer_name: other")), HasSubstr("Muon"));
  EXPECT_THAT(refused_lines(read_torchtune_recipe(model, sections)), HasSubstr("optimizer: no optimizer._component_"));
  const Report logged =
      read_torchtune_recipe(model, sections + "optimizer_name: plain\nwandb: {groups: {ema: a_8bit}}");
  EXPECT_EQ(refused_lines(logged), "") << "the section of a logger";
}

// bitsandbytes, optim/optimizer.py: get_state_buffer(dtype=torch.float32).
TEST(Recipes, StatesOfBitsandbytesHave32Bits) {
  const std::string model = "{_component_: torchtune.models.llama3_1.llama3_1_8b}";
  const auto moments = [&](const std::string& name) {
    return read_torchtune_recipe(model, "optimizer: {_component_: " + name + "}").at("precision_recipe.moments");
  };
  EXPECT_EQ(moments("torch.optim.AdamW"), Json("bf16"));
  EXPECT_EQ(moments("bitsandbytes.optim.AdamW"), Json("fp32"));
  EXPECT_EQ(moments("bitsandbytes.optim.PagedAdamW"), Json("fp32"));
  EXPECT_EQ(moments("bitsandbytes.optim.PagedAdamW8bit"), Json(1));
  const auto axolotl = [](const std::string& name) {
    return read_test_launch(
        "base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n"
        "gradient_accumulation_steps: 4\noptim_args: {eps: 1e-8, beta1: 0.9}\noptimizer: " +
            name,
        "axolotl.yaml");
  };
  EXPECT_EQ(axolotl("adamw_torch").at("precision_recipe.moments"), Json("bf16"));
  EXPECT_EQ(axolotl("paged_adamw_32bit").at("precision_recipe.moments"), Json("fp32"));
  EXPECT_EQ(axolotl("adamw_bnb_8bit").at("precision_recipe.moments"), Json(1));
  EXPECT_EQ(refused_lines(axolotl("adamw_torch")), "") << "eps of the optimizer changes nothing";
}

std::string axolotl_with(const std::string& rest) {
  return "base_model: Qwen/Qwen2.5-7B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: true\n" + rest;
}

std::string factory_with(const std::string& rest) {
  return "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: full\ndataset: a\ncutoff_len: 2048\n"
         "bf16: true\nper_device_train_batch_size: 1\n" +
         rest;
}

TEST(Recipes, StatesOfBitsandbytesBesideTheTrainersWeightsInBf16) {
  const auto moments = [](const std::string& name) {
    return read_test_launch(factory_with("pure_bf16: true\noptim: " + name), "f.yaml").at("precision_recipe.moments");
  };
  EXPECT_EQ(moments("adamw_torch"), Json("bf16"));
  EXPECT_EQ(moments("paged_adamw_32bit"), Json("fp32"));
  EXPECT_EQ(moments("paged_adamw_8bit"), Json(1));
}

TEST(Recipes, EagerAttentionIsUnfused) {
  for (const char* eager : {"eager_attention: true", "attn_implementation: eager"})
    EXPECT_EQ(read_test_launch(axolotl_with(eager), "a.yaml").at("attention"), Json("unfused")) << eager;
  for (const char* fused : {"eager_attention: false", "attn_implementation: sdpa", "flash_attention: true"})
    EXPECT_FALSE(read_test_launch(axolotl_with(fused), "a.yaml").has("attention")) << fused;
  EXPECT_EQ(read_test_launch(factory_with("flash_attn: disabled"), "f.yaml").at("attention"), Json("unfused"));
  for (const char* fused : {"flash_attn: fa2", "flash_attn: sdpa", "flash_attn: auto"})
    EXPECT_FALSE(read_test_launch(factory_with(fused), "f.yaml").has("attention")) << fused;
  const std::string run =
      "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 "
      "--bf16 --max_seq_length 2048 --learning_rate 1e-5 --attn_implementation ";
  EXPECT_EQ(read_test_launch(run + "eager", "run.sh").at("attention"), Json("unfused"));
  EXPECT_FALSE(read_test_launch(run + "flash_attention_2", "run.sh").has("attention"));
}

TEST(Recipes, TorchtuneStopsAtFp16) {
  for (const char* builder : {"llama3.lora_llama3_8b", "llama3.qlora_llama3_8b", "llama2.llama2_7b"}) {
    const auto lines = [&](const char* type) {
      return refused_lines(
          read_test_launch(std::string("model: {_component_: torchtune.models.") + builder +
                               "}\noptimizer: {_component_: torch.optim.AdamW}\nbatch_size: 1\ndtype: " + type + "\n",
                           "a.yaml"));
    };
    EXPECT_THAT(lines("fp16"), testing::HasSubstr("dtype: torchtune's recipes stop at fp16")) << builder;
    EXPECT_THAT(lines("bf16"), testing::Not(testing::HasSubstr("dtype"))) << builder;
  }
}

TEST(Recipes, TwoTypesOf16BitsAreAskedAbout) {
  const std::string axolotl = "base_model: gpt2\nsequence_len: 512\nmicro_batch_size: 1\nbf16: auto\nfp16: ";
  EXPECT_FALSE(read_test_launch(axolotl + "true\n", "a.yaml").has("precision"));
  EXPECT_EQ(read_test_launch(axolotl + "false\n", "a.yaml").at("precision"), Json("bf16"));
}

TEST(Recipes, OtherDevicesAreRefusedByName) {
  const std::string model = "{_component_: torchtune.models.llama3_1.llama3_1_8b}";
  const auto torchtune = [&](const std::string& device) {
    return refused_lines(
        read_torchtune_recipe(model, "optimizer: {_component_: torch.optim.AdamW}\ndevice: " + device));
  };
  for (const char* device : {"cuda", "cuda:1", "0", "\"\"", "null"}) EXPECT_EQ(torchtune(device), "") << device;
  for (const char* device : {"cpu", "npu", "xpu", "mps", "hpu", "ipu", "gcu", "sdaa", "privateuseone"})
    EXPECT_THAT(torchtune(device), HasSubstr(device));
  EXPECT_THAT(refused_lines(read_test_launch(axolotl_with("device: mps"), "a.yaml")), HasSubstr("mps"));
  EXPECT_THAT(refused_lines(read_test_launch(factory_with("use_cpu: true"), "f.yaml")), HasSubstr("use_cpu"));
  EXPECT_EQ(refused_lines(read_test_launch(factory_with("use_cpu: false"), "f.yaml")), "");
}

TEST(Recipes, KeysWithoutEffect) {
  EXPECT_EQ(refused_lines(read_test_launch(factory_with("adapter_name_or_path: saves/a\nfreeze_vision_tower: true\n"
                                                        "freeze_multi_modal_projector: true"),
                                           "f.yaml")),
            "");
}

TEST(Recipes, FormatsOfFourBitsAreNeverLeftOut) {
  for (const char* key : {"nvfp4_training: {enabled: true}", "use_mxfp8: true", "train_format: nvfp4"})
    EXPECT_NE(refused_lines(read_test_launch(axolotl_with(key), "a.yaml")), "") << key;
  EXPECT_EQ(refused_lines(read_test_launch(axolotl_with("nvfp4_training: {enabled: false, base_mode: all}"), "a.yaml")),
            "");
}

TEST(Recipes, RecomputingNamesItsKey) {
  const auto from = [](const std::string& rest) {
    const Report report = read_test_launch(axolotl_with(rest), "a.yaml");
    for (const Mapped& one : report.mapped)
      if (one.key == "recompute.granularity") return one.value + " from " + one.from;
    return std::string();
  };
  EXPECT_EQ(from("fsdp_version: 2\nfsdp_config: {activation_checkpointing: true}"),
            "full from fsdp_config.activation_checkpointing");
  EXPECT_EQ(from("gradient_checkpointing: true"), "full from gradient_checkpointing");
}

TEST(Recipes, ActivationsOfAxolotlMoveToTheHost) {
  const Report report =
      read_test_launch(axolotl_with("gradient_checkpointing: true\nactivation_offloading: true"), "a.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("offload.activations"), Json("cpu"));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  for (const char* const waits :
       {"activation_offloading: disk", "activation_offloading: legacy", "gradient_checkpointing: offload"})
    EXPECT_THAT(refused_lines(read_test_launch(axolotl_with(waits), "a.yaml")), HasSubstr("the GPU waits")) << waits;
}

TEST(TorchtuneRecipe, LlamaTiesItsHeadAndPhiHasNone) {
  const auto model = [](const std::string& component) {
    const Report report = read_torchtune_recipe(
        "{_component_: torchtune.models." + component + ", " + kSmall + ", intermediate_dim: 4096}", "");
    EXPECT_EQ(refused_lines(report), "") << component;
    return report.at("model");
  };
  EXPECT_EQ(model("llama3_2.llama3_2")["tie_word_embeddings"], true);
  EXPECT_EQ(model("phi3.phi3")["model_type"], "phi3");
  EXPECT_EQ(model("phi3.phi3")["tie_word_embeddings"], false);
}

// torchtune/models/qwen3/_model_builders.py makes Qwen 3 of the builder qwen2.
TEST(TorchtuneRecipe, QwenWithNormsOfHeadsAndWithoutBiasesIsQwen3) {
  const auto read = [](const std::string& more) {
    return read_torchtune_recipe(
        std::string("{_component_: torchtune.models.qwen2.qwen2, ") + kSmall + ", intermediate_dim: 4096" + more + "}",
        "");
  };
  constexpr const char* kPlain = ", q_proj_bias: false, k_proj_bias: false, v_proj_bias: false";
  const Report newer = read(std::string(kPlain) + ", q_norm: true, k_norm: true");
  EXPECT_EQ(refused_lines(newer), "");
  EXPECT_EQ(newer.at("model")["model_type"], "qwen3");
  EXPECT_EQ(newer.at("model")["head_dim"], 1024 / 16);
  EXPECT_EQ(read(", q_proj_bias: true, q_norm: false").at("model")["model_type"], "qwen2");
  EXPECT_THAT(refused_lines(read(", q_norm: true, k_norm: true")), HasSubstr("model.q_norm"));
  EXPECT_THAT(refused_lines(read(kPlain)), HasSubstr("model.q_proj_bias"));
}

TEST(Recipes, TheShortKeyOfAttentionNamesAKernel) {
  const Report flash = read_test_launch(axolotl_with("attention: flash"), "a.yaml");
  EXPECT_EQ(refused_lines(flash), "");
  EXPECT_FALSE(flash.has("attention"));
  EXPECT_EQ(read_test_launch(axolotl_with("attention: eager"), "a.yaml").at("attention"), Json("unfused"));
  const Report fork = read_test_launch(factory_with("attn: fa2\nalst_ulysses_degree: 4"), "f.yaml");
  EXPECT_EQ(refused_lines(fork), "alst_ulysses_degree: it cuts the model in other ways\n");
}

// axolotl-ai-cloud/axolotl, docs/nd_parallelism.qmd.
TEST(Recipes, OfAxolotlCutTheModelBesideTheSecondFsdp) {
  const std::string sharded = "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n",
                    degrees = "tensor_parallel_size: 2\ncontext_parallel_size: 2\n";
  const auto asks = [](const Report& report) {
    return std::ranges::find(report.asked, "parallelism.context_exchange", &Asked::key) != report.asked.end();
  };
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr", "gpus=16"};
  const Report cut = read_launch_text(axolotl_with(sharded + degrees), "a.yaml", launch, findings);
  EXPECT_EQ(refused_lines(cut), "");
  EXPECT_EQ(cut.whole("parallelism.tensor"), 2);
  EXPECT_EQ(cut.whole("parallelism.context"), 2);
  EXPECT_EQ(cut.whole("batch.global"), 4);
  EXPECT_EQ(cut.whole("optimizer.zero_stage"), 3);
  EXPECT_TRUE(asks(cut));
  const auto exchange = [&](const std::string& function) {
    const Report report = read_test_launch(axolotl_with(sharded + degrees + "ring_attn_func: " + function), "a.yaml");
    EXPECT_FALSE(asks(report)) << function;
    return report.at("parallelism.context_exchange");
  };
  EXPECT_EQ(exchange("varlen_llama3"), Json("all-gather"));
  EXPECT_EQ(exchange("batch_ring"), Json("ring"));
  EXPECT_THAT(refused_lines(read_test_launch(axolotl_with(sharded + degrees + "ring_attn_func: own"), "a.yaml")),
              HasSubstr("ring_attn_func"));
  for (const std::string& other : {std::string("fsdp_config: {}\n"), std::string("deepspeed: zero3.json\n"),
                                   sharded + "adapter: lora\nlora_r: 8\n", std::string()})
    EXPECT_THAT(refused_lines(read_test_launch(axolotl_with(other + degrees), "a.yaml")),
                HasSubstr("tensor_parallel_size: it cuts the model in other ways"))
        << other;
  EXPECT_THAT(refused_lines(read_test_launch(axolotl_with(sharded + "tensor_parallel_size: 0"), "a.yaml")),
              HasSubstr("tensor_parallel_size: found 0"));
  const auto stage = [](const std::string& again, const std::string& version) {
    return read_test_launch(axolotl_with(std::string("fsdp_version: ") + version + "\nfsdp_config: {" + again + "}"),
                            "a.yaml")
        .whole("optimizer.zero_stage");
  };
  EXPECT_EQ(stage("reshard_after_forward: false", "2"), 2);
  EXPECT_EQ(stage("fsdp_reshard_after_forward: false", "2"), 2);
  EXPECT_EQ(stage("reshard_after_forward: false", "1"), 3);
}

// huggingface/alignment-handbook, scripts/README.md: accelerate launch --config_file FILE scripts/run_sft.py RECIPE;
// huggingface/open-r1, README.md, with dataset_name.
TEST(Recipes, OfTheAlignmentHandbookAskForTheFileOfAccelerate) {
  const std::string recipe =
      "model_name_or_path: Qwen/Qwen2.5-7B\ntorch_dtype: bfloat16\nbf16: true\nmax_seq_length: 2048\n"
      "per_device_train_batch_size: 4\n";
  const Report own = read_test_launch(recipe + "dataset_mixer: {a/b: 1.0}", "r.yaml");
  EXPECT_FALSE(own.has("optimizer.zero_stage"));
  EXPECT_FALSE(own.has("precision_recipe"));
  const auto asked = std::ranges::find(own.asked, "optimizer.zero_stage", &Asked::key);
  ASSERT_NE(asked, own.asked.end());
  EXPECT_THAT(asked->because, HasSubstr("accelerate's file"));
  EXPECT_FALSE(read_test_launch(recipe + "dataset_name: a/b", "r.yaml").has("optimizer.zero_stage"));
  EXPECT_EQ(read_test_launch(recipe, "r.yaml").whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(
      read_test_launch(recipe + "dataset_mixture: {seed: 0}\nfsdp: full_shard", "r.yaml").whole("optimizer.zero_stage"),
      3);
}

TEST(Recipes, AnAlphaAloneAsksForTheMethod) {
  const auto asks = [](const std::string& more) {
    const Report report = read_test_launch(
        "model_name_or_path: Qwen/Qwen2.5-7B\nbf16: true\nmax_seq_length: 2048\nper_device_train_batch_size: 4\n"
        "lora_alpha: 16\n" +
            more,
        "r.yaml");
    return std::ranges::find(report.asked, "training.method", &Asked::key) != report.asked.end();
  };
  EXPECT_TRUE(asks(""));
  EXPECT_FALSE(asks("lora_r: 8"));
  EXPECT_FALSE(asks("use_lora: false"));
  EXPECT_FALSE(asks("finetuning_type: lora"));
}

// recipes/configs/alpaca_llama2_lora_finetune.yaml and recipes/params.py of early 2024.
TEST(TorchtuneRecipe, TheFirstOnesNameTheirPartsWithoutComponent) {
  const auto read = [](const std::string& rest) {
    return read_test_launch(
        "model: lora_llama2_7b\nmodel_checkpoint: /a/b\nlora_attn_modules: ['q_proj', 'v_proj']\nlora_rank: 4\n"
        "lora_alpha: 16\ntokenizer: llama2_tokenizer\ntokenizer_checkpoint: /a/t.model\ndataset: alpaca\n"
        "batch_size: 2\noptimizer: AdamW\nloss: CrossEntropyLoss\nepochs: 2\ndevice: cuda\noutput_dir: /a/c\n" +
            rest,
        "recipe.yaml");
  };
  const Report report = read("dtype: fp32");
  EXPECT_EQ(report.framework, "torchtune");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model"), "llama-2-7b");
  EXPECT_EQ(report.at("training.method"), "lora");
  EXPECT_EQ(report.whole("training.rank"), 4);
  EXPECT_EQ(report.at("precision"), "fp32");
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_THAT(refused_lines(read("dtype: bf16")), HasSubstr("dtype: the first recipes cast weights of fp32"));
  EXPECT_EQ(read("dtype: fp32\nenable_fsdp: false").whole("optimizer.zero_stage"), 0);
}

// torchtune/models/code_llama2/_model_builders.py.
TEST(TorchtuneRecipe, CodeLlamaIsLlama2WithItsOwnWords) {
  for (const char* builder : {"code_llama2_7b", "lora_code_llama2_7b, lora_rank: 8, lora_attn_modules: [q_proj]"}) {
    const Report report =
        read_torchtune_recipe(std::string("{_component_: torchtune.models.code_llama2.") + builder + "}",
                              "optimizer: {_component_: torch.optim.AdamW}");
    EXPECT_EQ(refused_lines(report), "") << builder;
    EXPECT_EQ(report.at("model.base"), "llama-2-7b") << builder;
    EXPECT_EQ(report.whole("model.vocab_size"), 32016) << builder;
  }
}

TEST(Recipes, OfAxolotlMayNameKernelsOfExperts) {
  const Report report = read_test_launch(
      "base_model: mistralai/Mixtral-8x7B-v0.1\nmicro_batch_size: 1\nsequence_len: 2048\nmoe_kernels: true\n"
      "moe_group_size: 128\n",
      "recipe.yaml");
  EXPECT_EQ(refused_lines(report), "");
}

// torchtune, recipes/lora_finetune_distributed.py: the comments of a recipe may speak of other recipes.
TEST(TorchtuneRecipe, TheStartedRecipeTellsTheMethod) {
  const auto refused = [](const std::string& comments) {
    const std::string lora =
        "{_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 8, "
        "lora_attn_modules: [q_proj]}";
    return refused_lines(read_torchtune_recipe(lora, "optimizer: {_component_: torch.optim.AdamW}\n" + comments));
  };
  const std::string start = "# tune run --nproc_per_node 2 ";
  EXPECT_EQ(refused("# As lora_dpo_distributed and full_ppo; run grpo behind it, and qat_distributed."), "");
  EXPECT_EQ(refused(start + "lora_finetune_distributed --config own_lora_dpo"), "");
  EXPECT_THAT(refused(start + "lora_dpo_distributed --config a"), HasSubstr("dpo: not plain training"));
  EXPECT_THAT(refused(start + "dev/grpo_full_finetune_distributed --config a"), HasSubstr("grpo: not plain"));
  EXPECT_THAT(refused(start + "knowledge_distillation_distributed --config a"), HasSubstr("not plain training"));
  EXPECT_THAT(refused(start + "qat_distributed --config a"), HasSubstr("QAT"));
  EXPECT_THAT(refused("loss: {_component_: torchtune.rlhf.loss.DPOLoss}"), HasSubstr("a reference model"));
}

// recipes/full_finetune_distributed.py takes a switch, or a mapping whose `model` is true by default.
TEST(TorchtuneRecipe, CompilingByParts) {
  const auto read = [](const std::string& compile) {
    return read_torchtune_recipe("{_component_: torchtune.models.llama3.llama3_8b}",
                                 "optimizer: {_component_: torch.optim.AdamW}\ncompile: " + compile);
  };
  for (const auto& [text, on] :
       {std::pair("true", true), std::pair("false", false), std::pair("{model: false, loss: true}", false),
        std::pair("{model: true, loss: true, optimizer_step: false, scale_grads: true}", true),
        std::pair("{loss: true, optimizer_step: true}", true)}) {
    EXPECT_EQ(read(text).at("compile"), Json(on)) << text;
    EXPECT_EQ(refused_lines(read(text)), "") << text;
  }
}

TEST(TorchtuneRecipe, ALossOfTheUsersOwnIsRefused) {
  const auto refused = [](const std::string& loss) {
    return refused_lines(
        read_torchtune_recipe("{_component_: torchtune.models.llama3.llama3_8b}",
                              "optimizer: {_component_: torch.optim.AdamW}\nloss: {_component_: " + loss + "}\n"));
  };
  EXPECT_EQ(refused("torchtune.modules.loss.LinearCrossEntropyLoss"), "");
  EXPECT_EQ(refused("torch.nn.CrossEntropyLoss"), "");
  EXPECT_THAT(refused("rank_loss.RankingLoss"), HasSubstr("loss._component_: \"rank_loss.RankingLoss\" is a loss"));
}

TEST(TorchtuneRecipe, ASectionOfFsdpMovesParameters) {
  const auto read = [](const std::string& more) {
    return read_torchtune_recipe("{_component_: torchtune.models.llama3.llama3_8b}",
                                 "optimizer: {_component_: torch.optim.AdamW}\n" + more);
  };
  EXPECT_EQ(read("fsdp: {cpu_offload: true}").at("offload"), read("fsdp_cpu_offload: true").at("offload"));
  EXPECT_TRUE(read("fsdp: {cpu_offload: true}").has("offload"));
  EXPECT_EQ(refused_lines(read("fsdp: {cpu_offload: false}")), "");
}

// axolotl, utils/schemas/validation.py.
TEST(Recipes, OfAxolotlHaveAnOlderNameOfContextRanks) {
  const std::string sharded =
      "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\nring_attn_func: batch_ring\n";
  const Report report = read_test_launch(axolotl_with(sharded + "sequence_parallel_degree: 4"), "a.yaml");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("parallelism.context"), 4);
  const Report both =
      read_test_launch(axolotl_with(sharded + "sequence_parallel_degree: 4\ncontext_parallel_size: 2"), "a.yaml");
  EXPECT_EQ(both.whole("parallelism.context"), 2);
}

// axolotl, src/axolotl/integrations.
TEST(Recipes, OfAxolotlMayNamePlugins) {
  const auto refused = [](const std::string& plugins) {
    return refused_lines(read_test_launch(axolotl_with("plugins: [" + plugins + "]"), "a.yaml"));
  };
  EXPECT_EQ(refused("axolotl.integrations.liger.LigerPlugin, axolotl.integrations.kernels.KernelsPlugin, "
                    "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin, "
                    "axolotl.integrations.lm_eval.LMEvalPlugin"),
            "");
  EXPECT_EQ(refused("axolotl.integrations.kd.KDPlugin"), "plugins KDPlugin: distillation: a second model runs\n");
  EXPECT_EQ(refused("axolotl.integrations.spectrum.SpectrumPlugin"),
            "plugins SpectrumPlugin: only some layers train\n");
  EXPECT_THAT(refused("axolotl.integrations.diffusion.DiffusionPlugin"),
              HasSubstr("plugins DiffusionPlugin: diffusion"));
  EXPECT_THAT(refused("my.own.OffloaderPlugin"), HasSubstr("plugins OffloaderPlugin: an unknown plugin"));
}

TEST(Recipes, OfAxolotlNameMethodsOfTheirOwn) {
  const auto refused = [](const std::string& more) {
    return refused_lines(read_test_launch(axolotl_with(more), "a.yaml"));
  };
  EXPECT_EQ(refused("use_kernels: true\nuse_sonicmoe: true\nuse_scattermoe: false\njagged_restart_steps: 100\n"
                    "jagged_restart_warmup_steps: 5"),
            "");
  EXPECT_THAT(refused("tiled_mlp: true"), HasSubstr("tiled_mlp: an MLP in tiles"));
  EXPECT_THAT(refused("nvfp4_merge_aware: true"), HasSubstr("nvfp4_merge_aware: weights that are quantised"));
  EXPECT_THAT(refused("lora_target_parameters: [mlp.experts.down_proj]"),
              HasSubstr("lora_target_parameters: adapters beside the stacked weights"));
  EXPECT_THAT(refused("diffusion: {noise_schedule: linear}"), HasSubstr("diffusion.noise_schedule: diffusion"));
}

TEST(Recipes, OfLlamaFactoryNameMethodsOfTheirOwn) {
  const auto refused = [](const std::string& more) {
    return refused_lines(read_test_launch(factory_with(more), "f.yaml"));
  };
  EXPECT_EQ(refused("oft_block_size: 32\noft_target: all\nfp8: false\nfp8_backend: auto\n"
                    "fp8_enable_fsdp_float8_all_gather: false"),
            "")
      << "a file with every argument";
  EXPECT_EQ(refused("fp8: true\nfp8_backend: te\nfp8_enable_fsdp_float8_all_gather: true"),
            "fp8: products in fp8 of this tool are not modelled\n");
  const std::string megatron = refused(
      "tensor_model_parallel_size: 1\nuse_distributed_optimizer: true\n"
      "overlap_grad_reduce: true\nmoe_token_dispatcher_type: alltoall\n"
      "recompute_granularity: full\npipeline_model_parallel_size: 2");
  EXPECT_EQ(megatron,
            "tensor_model_parallel_size: LLaMA-Factory trains a file with keys of Megatron-Core through "
            "mcore_adapter, which is not read\n");
}

// foundation-model-stack/fms-acceleration, sample-configurations.
TEST(Recipes, PluginsAloneAreNoTraining) {
  Findings findings;
  (void)read_launch_text(
      "plugins:\n  training:\n    moe: {scattermoe: {ep_degree: 4}}\n    attention: {padding_free: {method: own}}\n",
      "plugins.yaml", {}, findings);
  EXPECT_THAT(lines_of(findings.complaints),
              HasSubstr("it configures plugins of fms-acceleration (training.moe.scattermoe, "
                        "training.attention.padding_free), and states no training"));
}

// transformers 4 has a list of modules of experts, 5 stacked weights, which PEFT does not find by the names of modules.
TEST(Recipes, AdaptersBesideRoutedExpertsAreAskedFor) {
  const auto read = [](const std::string& more, const std::vector<std::string>& sets = {}) {
    Findings findings;
    Launch launch;
    launch.sets = {"cluster=dgx-h100-ndr", "gpus=8"};
    launch.sets.insert(launch.sets.end(), sets.begin(), sets.end());
    return read_launch_text(
        "base_model: mistralai/Mixtral-8x7B-v0.1\nsequence_len: 1024\nmicro_batch_size: 1\n"
        "adapter: lora\nlora_r: 8\n" +
            more,
        "a.yaml", launch, findings);
  };
  const auto asks = [](const Report& report) {
    return std::ranges::find(report.asked, "training.targets", &Asked::key) != report.asked.end();
  };
  EXPECT_TRUE(asks(read("lora_target_linear: true\n")));
  EXPECT_TRUE(asks(read("lora_target_modules: [q_proj, w1, w2, w3]\n")));
  EXPECT_FALSE(asks(read("lora_target_modules: [q_proj, v_proj]\n")));
  EXPECT_FALSE(asks(read("lora_target_linear: true\n", {R"(training.targets=["attention","experts"])"})));
  EXPECT_FALSE(asks(read_test_launch(axolotl_with("adapter: lora\nlora_r: 8\nlora_target_linear: true\n"), "a.yaml")));
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
