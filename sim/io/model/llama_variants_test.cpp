// Tests parameter counts of families whose layers are llama's but for a few settings.
//
// Each row holds the fields of a published config.json. Its count was worked out by hand from the shapes in the
// modeling code, and rounds to the size that the model's name or page states.
#include "sim/io/model/llama_variants.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/io/model/test_published.h"

namespace foretoken::io {
namespace {

constexpr PublishedConfig kVariantConfigs[] = {
    {"zai-org/glm-4-9b-hf: biases of q, k and v",
     R"({"model_type": "glm", "num_hidden_layers": 40, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696, "vocab_size": 151552,
         "attention_bias": true, "partial_rotary_factor": 0.5, "tie_word_embeddings": false})",
     9'399'951'360},
    {"zai-org/GLM-4-9B-0414: norms on both sides",
     R"({"model_type": "glm4", "num_hidden_layers": 40, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696, "vocab_size": 151552,
         "attention_bias": true, "tie_word_embeddings": false})",
     9'400'279'040},
    {"zai-org/chatglm3-6b",
     R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "num_attention_heads": 32,
         "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "ffn_hidden_size": 13696,
         "padded_vocab_size": 65024, "add_bias_linear": false, "add_qkv_bias": true, "rmsnorm": true,
         "post_layer_norm": true, "fp32_residual_connection": false, "original_rope": true, "seq_length": 8192,
         "layernorm_epsilon": 1e-05, "apply_query_key_layer_scaling": true, "tie_word_embeddings": false})",
     6'243'584'000},
    {"zai-org/chatglm-6b: the first, without gates and with a tied head",
     R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "num_attention_heads": 32,
         "inner_hidden_size": 16384, "vocab_size": 150528, "max_sequence_length": 2048, "position_encoding_2d": true,
         "layernorm_epsilon": 1e-05})",
     28LL * (4LL * 4096 * 4096 + 4 * 4096 + 2LL * 4096 * 16384 + 16384 + 4096 + 4 * 4096) + 150528LL * 4096 + 2 * 4096},
    {"zai-org/glm-4-9b-chat: two names of its layers",
     R"({"model_type": "chatglm", "num_layers": 40, "num_hidden_layers": 40, "hidden_size": 4096,
         "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128,
         "ffn_hidden_size": 13696, "padded_vocab_size": 151552, "vocab_size": 151552, "add_bias_linear": false,
         "add_qkv_bias": true, "rmsnorm": true, "post_layer_norm": true, "rope_ratio": 500, "seq_length": 131072,
         "tie_word_embeddings": false})",
     9'399'951'360},
    {"ByteDance-Seed/Seed-OSS-36B-Base",
     R"({"model_type": "seed_oss", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 80,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27648, "vocab_size": 155136,
         "attention_bias": true, "attention_out_bias": false, "mlp_bias": false, "residual_dropout": 0.1})",
     36'151'104'512},
    {"arcee-ai/AFM-4.5B by its modeling code: two products in the MLP",
     R"({"model_type": "arcee", "num_hidden_layers": 36, "hidden_size": 2560, "num_attention_heads": 20,
         "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 18432, "vocab_size": 128004,
         "hidden_act": "relu2", "tie_word_embeddings": false})",
     36LL * (2560 * 128 * (20 + 4 + 4 + 20) + 2 * 2560 * 18432 + 2 * 2560) + 2LL * 128004 * 2560 + 2560},
    {"HuggingFaceTB/SmolLM3-3B: tied where no key says otherwise",
     R"({"model_type": "smollm3", "num_hidden_layers": 36, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 4, "intermediate_size": 11008, "vocab_size": 128256, "no_rope_layer_interval": 4,
         "no_rope_layers": [1, 1, 1, 0], "use_sliding_window": false, "sliding_window": null})",
     3'075'098'624},
    {"kyutai/helium-1-preview-2b by its modeling code",
     R"({"model_type": "helium", "num_hidden_layers": 24, "hidden_size": 2560, "num_attention_heads": 20,
         "num_key_value_heads": 20, "head_dim": 128, "intermediate_size": 7040, "vocab_size": 48000,
         "tie_word_embeddings": false})",
     24LL * (4 * 2560 * 2560 + 3 * 2560 * 7040 + 2 * 2560) + 2LL * 48000 * 2560 + 2560},
    {"baidu/ERNIE-4.5-0.3B-PT",
     R"({"model_type": "ernie4_5", "num_hidden_layers": 18, "hidden_size": 1024, "num_attention_heads": 16,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 103424,
         "use_bias": false})",
     360'748'032},
    {"internlm/internlm3-8b-instruct",
     R"({"model_type": "internlm3", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 10240, "vocab_size": 128512, "bias": false,
         "qkv_bias": false, "tie_word_embeddings": false})",
     8'804'241'408},
    {"openbmb/MiniCPM-2B-sft-bf16",
     R"({"model_type": "minicpm", "num_hidden_layers": 40, "hidden_size": 2304, "num_attention_heads": 36,
         "num_key_value_heads": 36, "intermediate_size": 5760, "vocab_size": 122753, "scale_emb": 12,
         "scale_depth": 1.4, "dim_model_base": 256})",
     2'724'880'896},
    {"LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct",
     R"({"model_type": "exaone", "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336, "vocab_size": 102400,
         "activation_function": "silu", "embed_dropout": 0.0, "tie_word_embeddings": false})",
     7'818'448'896},
    {"Qwen/Qwen-7B",
     R"({"model_type": "qwen", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "kv_channels": 128, "intermediate_size": 22016, "vocab_size": 151936, "no_bias": true,
         "attn_dropout_prob": 0.0, "emb_dropout_prob": 0.0, "use_flash_attn": "auto", "tie_word_embeddings": false})",
     7'721'324'544},
    {"baichuan-inc/Baichuan2-7B-Base",
     R"({"model_type": "baichuan", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "intermediate_size": 11008, "vocab_size": 125696, "max_position_embeddings": 4096, "model_max_length": 4096,
         "z_loss_weight": 0, "tie_word_embeddings": false})",
     7'505'973'248},
    {"stabilityai/stablelm-2-1_6b",
     R"({"model_type": "stablelm", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 5632, "vocab_size": 100352, "use_qkv_bias": true,
         "hidden_act": "silu", "tie_word_embeddings": false})",
     1'644'515'328},
    {"CohereLabs/c4ai-command-r7b-12-2024",
     R"({"model_type": "cohere2", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336, "vocab_size": 256000,
         "sliding_window": 4096, "sliding_window_pattern": 4, "use_parallel_block": true})",
     8'028'033'024},
    {"allenai/Olmo-3-1025-7B",
     R"({"model_type": "olmo3", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100278, "sliding_window": 4096,
         "tie_word_embeddings": false})",
     7'298'011'136},
    {"Salesforce/codegen-350M-mono",
     R"({"model_type": "codegen", "n_layer": 20, "n_embd": 1024, "n_head": 16, "n_positions": 2048, "n_ctx": 2048,
         "n_inner": null, "rotary_dim": 32, "vocab_size": 51200, "activation_function": "gelu_new",
         "tie_word_embeddings": false})",
     356'712'448}};

TEST(LlamaVariants, ParameterCountsOfPublishedModels) { expect_parameters(kVariantConfigs); }

model::Transformer variant(const std::string& changes, const char* name, std::string& wrong) {
  model::Transformer model;
  for (const PublishedConfig& published : kVariantConfigs) {
    if (std::string_view(published.name).find(name) == std::string_view::npos) continue;
    nlohmann::json config = nlohmann::json::parse(published.config);
    config.merge_patch(nlohmann::json::parse(changes));
    wrong = complaints_of(config.dump(), [&](const Node& root) { model = read_model(root, "t"); });
  }
  return model;
}

TEST(LlamaVariants, KindsOfLayers) {
  std::string wrong;
  EXPECT_EQ(variant("{}", "Seed-OSS", wrong).hidden_dropout, 0.1);
  EXPECT_EQ(variant("{}", "Baichuan2", wrong).positions, model::Positions::kRotary);
  EXPECT_EQ(variant(R"({"max_position_embeddings": null})", "Baichuan2", wrong).positions, model::Positions::kAlibi);
  EXPECT_TRUE(variant("{}", "MiniCPM", wrong).scaled_embedding);
  EXPECT_EQ(variant("{}", "Olmo-3", wrong).local.window_of(2), 4096);
  EXPECT_EQ(variant("{}", "Olmo-3", wrong).local.window_of(3), 0);
  EXPECT_EQ(variant("{}", "command-r7b", wrong).local.every, 4);
  EXPECT_FALSE(variant("{}", "command-r7b", wrong).qkv_bias);
  EXPECT_EQ(wrong, "");
}

struct WrongVariant {
  const char *name, *changes, *complaint;
};
constexpr WrongVariant kWrongVariants[] = {
    {"chatglm3", R"({"pre_seq_len": 128})", "/pre_seq_len: expected 0: prompts and weights of few bits"},
    {"chatglm-6b", R"({"pre_seq_len": 128})", "/pre_seq_len: expected 0: prompts and weights of few bits"},
    {"chatglm3", R"({"post_layer_norm": false})", "/post_layer_norm: expected true"},
    {"chatglm3", R"({"ffn_hidden_size": null})", "/ffn_hidden_size: missing"},
    {"chatglm3", R"({"num_hidden_layers": 27})", "/num_hidden_layers: expected 28 as num_layers, found 27"},
    {"chatglm3", R"({"num_layers": null, "num_hidden_layers": 28})", "/num_layers: missing"},
    {"EXAONE", R"({"num_hidden_layers": 2})", "/num_hidden_layers: expected 32 as num_layers, found 2"},
    {"Seed-OSS", R"({"attention_out_bias": true})", "/attention_out_bias: expected false"},
    {"SmolLM3", R"({"use_sliding_window": true, "sliding_window": 64})", "/use_sliding_window: expected false"},
    {"Qwen-7B", R"({"no_bias": false})", "/no_bias: expected true"},
    {"stablelm", R"({"qk_layernorm": true})", "/qk_layernorm: expected false"},
    {"command-r7b", R"({"sliding_window_pattern": 2})", "/sliding_window_pattern: expected 4"},
    {"Olmo-3", R"({"sliding_window": null})", "/sliding_window: missing"},
    {"Qwen-7B", R"({"model_type": "rwkv"})", "\"rwkv\" is not supported: it has recurrent layers"},
    {"Qwen-7B", R"({"model_type": "falcon_h1"})", "\"falcon_h1\" is not supported: it has state-space layers"},
    {"Qwen-7B", R"({"model_type": "qwen2_vl"})", "\"qwen2_vl\" is not supported: it has an encoder of images"}};

TEST(LlamaVariants, WrongConfigsAreRefusedByName) {
  for (const auto& [name, changes, complaint] : kWrongVariants) {
    SCOPED_TRACE(changes);
    std::string wrong;
    (void)variant(changes, name, wrong);
    EXPECT_NE(wrong.find(complaint), std::string::npos) << wrong;
  }
}

}  // namespace
}  // namespace foretoken::io
