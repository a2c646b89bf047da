// Tests parameter counts of families that later_variants.cpp, later_experts.cpp, latent_families.cpp and
// newer_families.cpp read.
//
// Each row holds the fields of a published config.json. Its count was worked out by hand from the shapes in the
// modeling_*.py of the family.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/io/model/test_published.h"

namespace foretoken::io {
namespace {

using testing::HasSubstr;

constexpr PublishedConfig kLaterConfigs[] = {
    {"mistralai/Devstral-2-123B-Instruct-2512",
     R"({"model_type": "ministral3", "num_hidden_layers": 88, "hidden_size": 12288, "num_attention_heads": 96,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 28672, "vocab_size": 131072,
         "rope_parameters": {"rope_type": "yarn", "llama_4_scaling_beta": 0.0}, "sliding_window": null})",
     125'025'988'608},
    {"01-ai/Yi-6B (2023)",
     R"({"model_type": "Yi", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 4, "intermediate_size": 11008, "vocab_size": 64000})",
     6'061'035'520},
    {"xverse/XVERSE-13B",
     R"({"model_type": "xverse", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,
         "intermediate_size": 13824, "vocab_size": 100278, "quantization_bit": 0, "initializer_weight": false})",
     40LL * (4 * 5120 * 5120 + 3 * 5120 * 13824 + 2 * 5120) + 2LL * 100278 * 5120 + 5120},
    {"orion with sizes of this test",
     R"({"model_type": "orion", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,
         "num_key_value_heads": 40, "intermediate_size": 15360, "vocab_size": 84608})",
     40LL * (4 * 5120 * 5120 + 3 * 5120 * 15360 + 4 * 5120) + 2LL * 84608 * 5120 + 2 * 5120},
    {"internlm/internlm-7b",
     R"({"model_type": "internlm", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "intermediate_size": 11008, "vocab_size": 103168, "bias": true})",
     7'321'948'160},
    {"tencent/Hunyuan-7B-Instruct",
     R"({"model_type": "hunyuan_v1_dense", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "attention_head_dim": 128, "intermediate_size": 14336,
         "vocab_size": 128167, "use_qk_norm": true, "use_cla": false, "num_experts": 1, "tie_word_embeddings": true})",
     32LL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 128 + 3 * 4096 * 14336 + 2 * 4096) + 128167LL * 4096 + 4096},
    {"XiaomiMiMo/MiMo-7B-Base",
     R"({"model_type": "mimo", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 11008, "vocab_size": 151680,
         "attention_bias": true, "num_nextn_predict_layers": 1, "use_sliding_window": false})",
     37LL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 48 * 128 + 3 * 4096 * 11008 + 2 * 4096) + 2LL * 151680 * 4096 +
         2LL * 4096 * 4096 + 4 * 4096},
    {"inceptionai/Jais-2-8B-Chat",
     R"({"model_type": "jais2", "num_hidden_layers": 32, "hidden_size": 3328, "num_attention_heads": 26,
         "intermediate_size": 26624, "vocab_size": 150272, "layer_norm_eps": 1e-05})",
     32LL * (4 * 3328 * 3329 + 2 * 3328 * 26624 + 26624 + 3328 + 4 * 3328) + 2LL * 150272 * 3328 + 2 * 3328},
    {"microsoft/phi-1_5 (2023)",
     R"({"model_type": "phi-msft", "n_layer": 24, "n_embd": 2048, "n_head": 32, "n_head_kv": null, "n_inner": null,
         "n_positions": 2048, "rotary_dim": 32, "vocab_size": 51200, "activation_function": "gelu_new",
         "flash_attn": false, "flash_rotary": false, "fused_dense": false, "tie_word_embeddings": false})",
     1'418'270'720},
    {"google/vaultgemma-1b",
     R"({"model_type": "vaultgemma", "num_hidden_layers": 26, "hidden_size": 1152, "num_attention_heads": 4,
         "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 256000,
         "sliding_window": 512, "hidden_activation": "gelu_pytorch_tanh"})",
     26LL * (4 * 1152 * 1024 + 3 * 1152 * 6912 + 2 * 1152) + 256000LL * 1152 + 1152},
    {"openbmb/MiniCPM3-4B",
     R"({"model_type": "minicpm3", "num_hidden_layers": 62, "hidden_size": 2560, "num_attention_heads": 40,
         "num_key_value_heads": 40, "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
         "qk_rope_head_dim": 32, "intermediate_size": 6400, "vocab_size": 73448, "scale_emb": 12, "scale_depth": 1.4,
         "dim_model_base": 256})",
     4'073'875'968},
    {"tencent/Youtu-LLM-2B",
     R"({"model_type": "youtu", "num_hidden_layers": 32, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 6144, "vocab_size": 128256,
         "embedding_initializer_range": 0.02})",
     1'961'560'064},
    {"microsoft/Phi-mini-MoE-instruct",
     R"({"model_type": "phimoe", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 960, "vocab_size": 32064,
         "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": true, "lm_head_bias": true,
         "input_jitter_noise": 0.01, "expert_dropout": 0.0, "sliding_window": 2047})",
     7'647'632'704},
    {"tencent/Hunyuan-A13B-Instruct",
     R"({"model_type": "hunyuan_v1_moe", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 128167,
         "num_experts": 64, "moe_topk": [8, 8], "moe_intermediate_size": [3072, 3072], "num_shared_expert": [1, 1],
         "use_mixed_mlp_moe": true, "tie_word_embeddings": true})",
     32LL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 128 + 2 * 4096 + 4096 * 64 + 65LL * 3 * 4096 * 3072) +
         128167LL * 4096 + 4096},
    {"inclusionAI/Ling-lite-1.5",
     R"({"model_type": "bailing_moe", "num_hidden_layers": 28, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 4, "intermediate_size": 1408, "moe_intermediate_size": 1408, "vocab_size": 126464,
         "num_experts": 64, "num_experts_per_tok": 6, "num_shared_experts": 2, "first_k_dense_replace": 0,
         "use_bias": false, "use_qkv_bias": false, "norm_head": false, "norm_softmax": false})",
     16'801'974'272},
    {"inclusionAI/Ling-mini-2.0",
     R"({"model_type": "bailing_moe", "num_hidden_layers": 20, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 5120, "moe_intermediate_size": 512,
         "moe_shared_expert_intermediate_size": 512, "vocab_size": 157184, "num_experts": 256,
         "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1, "use_bias": false,
         "use_qk_norm": true, "moe_router_enable_expert_bias": true, "score_function": "sigmoid",
         "router_dtype": "fp32"})",
     20LL * (2 * 2048 * 2048 + 2 * 2048 * 512 + 2 * 128 + 2 * 2048) + 3LL * 2048 * 5120 +
         19LL * (2048 * 256 + 256 + 257LL * 3 * 2048 * 512) + 2LL * 157184 * 2048 + 2048},
    {"allenai/FlexOlmo-7x7B-1T",
     R"({"model_type": "flex_olmo", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352, "num_experts": 7,
         "num_experts_per_tok": 5})",
     32LL * (4 * 4096 * 4096 + 4 * 4096 + 4096 * 7 + 7LL * 3 * 4096 * 11008) + 2LL * 100352 * 4096 + 4096},
    {"solar_open with sizes of this test",
     R"({"model_type": "solar_open", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 64,
         "num_key_value_heads": 8, "head_dim": 128, "moe_intermediate_size": 1280, "vocab_size": 196608,
         "n_routed_experts": 128, "num_experts_per_tok": 8, "n_shared_experts": 1})",
     48LL * (2 * 4096 * 8192 + 2 * 4096 * 1024 + 2 * 4096 + 4096 * 128 + 128 + 129LL * 3 * 4096 * 1280) +
         2LL * 196608 * 4096 + 4096}};

TEST(LaterVariants, ParameterCountsOfPublishedModels) { expect_parameters(kLaterConfigs); }

model::Transformer changed(const std::string& changes, const char* name, std::string& wrong) {
  model::Transformer model;
  for (const PublishedConfig& published : kLaterConfigs) {
    if (std::string_view(published.name).find(name) == std::string_view::npos) continue;
    nlohmann::json config = nlohmann::json::parse(published.config);
    config.merge_patch(nlohmann::json::parse(changes));
    wrong = complaints_of(config.dump(), [&](const Node& root) { model = read_model(root, "t"); });
  }
  return model;
}

TEST(LaterVariants, BiasesOfAttentionStandWithoutThoseOfTheMlp) {
  std::string wrong;
  const model::Transformer internlm = changed("{}", "internlm", wrong);
  EXPECT_TRUE(internlm.qkv_bias && internlm.biased_projection());
  EXPECT_FALSE(internlm.biased_mlp());
  const model::Transformer plain = changed(R"({"bias": false})", "internlm", wrong);
  EXPECT_FALSE(plain.qkv_bias || plain.biased_projection() || plain.biased_mlp());
  const model::Transformer jais = changed(R"({"attention_bias": false})", "Jais", wrong);
  EXPECT_FALSE(jais.qkv_bias || jais.biased_projection());
  EXPECT_TRUE(jais.biased_mlp());
  EXPECT_EQ(changed("{}", "MiMo", wrong).prediction_layers, 1);
  EXPECT_FALSE(changed("{}", "MiMo", wrong).linear_bias);
  EXPECT_EQ(changed("{}", "vaultgemma", wrong).norm_places, model::NormPlaces::kBefore);
  EXPECT_TRUE(changed("{}", "MiniCPM3", wrong).scaled_embedding);
  EXPECT_TRUE(changed("{}", "phi-1_5", wrong).shared_norm);
  EXPECT_EQ(wrong, "");
}

struct WrongLater {
  const char *name, *changes, *complaint;
};
constexpr WrongLater kWrongLater[] = {
    {"Hunyuan-7B", R"({"use_cla": true})", "/use_cla: expected false"},
    {"Hunyuan-7B", R"({"attention_head_dim": 64})", "/attention_head_dim: expected 128 as head_dim, found 64"},
    {"Hunyuan-7B", R"({"num_experts": 64})", "/num_experts: expected 1: models with experts are hunyuan_v1_moe"},
    {"Hunyuan-A13B", R"({"moe_topk": [8, 4]})", "/moe_topk/1: expected 8 as in the layers before"},
    {"Hunyuan-A13B", R"({"moe_topk": 65})", "/moe_topk: expected at most 64"},
    {"Hunyuan-A13B", R"({"moe_topk": null})", "/moe_topk: missing"},
    {"Hunyuan-A13B", R"({"moe_topk": []})", "/moe_topk: expected"},
    {"Hunyuan-A13B", R"({"moe_intermediate_size": 1024})",
     "/moe_intermediate_size: expected 3072 as intermediate_size"},
    {"Hunyuan-A13B", R"({"num_shared_expert": 2})", "/num_shared_expert: expected 1, found 2"},
    {"MiMo", R"({"attention_bias": false})", "/attention_bias: expected true"},
    {"Ling-lite", R"({"use_bias": null})", "/use_bias: missing"},
    {"Ling-lite", R"({"use_bias": true})", "/use_bias: expected false"},
    {"Ling-lite", R"({"norm_head": true})", "/norm_head: unknown key"},
    {"Ling-mini", R"({"moe_shared_expert_intermediate_size": 1024})",
     "/moe_shared_expert_intermediate_size: expected 512 as moe_intermediate_size, found 1024"},
    {"solar_open", R"({"first_k_dense_replace": 3})", "/first_k_dense_replace: expected 0"},
    {"Phi-mini", R"({"expert_dropout": 0.1})", "/expert_dropout: expected 0"},
    {"Youtu", R"({"v_head_dim": null})", "/v_head_dim: missing"},
    {"phi-1_5", R"({"tie_word_embeddings": true})", "/tie_word_embeddings: expected false"}};

TEST(LaterVariants, WrongConfigsAreRefusedByName) {
  for (const auto& [name, changes, complaint] : kWrongLater) {
    SCOPED_TRACE(changes);
    std::string wrong;
    (void)changed(changes, name, wrong);
    EXPECT_THAT(wrong, HasSubstr(complaint));
  }
}

}  // namespace
}  // namespace foretoken::io
