// Tests that a model in Megatron-LM's words is the model that its family describes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

struct SameModel {
  const char *what, *family, *megatron;
};

constexpr SameModel kSameModels[] = {
    {"Llama 3 8B",
     R"({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "hidden_act": "silu"})",
     R"({"model_type": "megatron", "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_query_groups": 8, "ffn_hidden_size": 14336, "vocab_size": 128256, "activation": "swiglu",
         "normalization": "RMSNorm", "position_embedding_type": "rope", "add_bias_linear": false,
         "untie_embeddings_and_output_weights": true})"},
    {"GPT-2 with learned positions and biases",
     R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257})",
     R"({"model_type": "megatron", "num_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
         "ffn_hidden_size": 3072, "max_position_embeddings": 1024, "vocab_size": 50257})"},
    {"OLMo, whose norms have no weights",
     R"({"model_type": "olmo", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 8192, "vocab_size": 50304, "hidden_act": "silu",
         "tie_word_embeddings": true})",
     R"({"model_type": "megatron", "num_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
         "ffn_hidden_size": 8192, "vocab_size": 50304, "activation": "swiglu",
         "normalization": "non_parametric_layernorm", "position_embedding_type": "rope", "add_bias_linear": false})"},
    {"Qwen2 with biases of queries, keys and values",
     R"({"model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
         "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "hidden_act": "silu"})",
     R"({"model_type": "megatron", "num_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
         "num_query_groups": 4, "ffn_hidden_size": 18944, "vocab_size": 152064, "activation": "swiglu",
         "normalization": "RMSNorm", "position_embedding_type": "rope", "add_bias_linear": false,
         "add_qkv_bias": true, "untie_embeddings_and_output_weights": true})"},
    {"DeepSeek-V2-Lite: latent attention, shared and routed experts",
     R"({"model_type": "deepseek_v2", "num_hidden_layers": 27, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 10944, "vocab_size": 102400, "hidden_act": "silu",
         "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
         "v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
         "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1})",
     R"({"model_type": "megatron", "num_layers": 27, "hidden_size": 2048, "num_attention_heads": 16,
         "ffn_hidden_size": 10944, "vocab_size": 102400, "activation": "swiglu", "normalization": "RMSNorm",
         "position_embedding_type": "rope", "add_bias_linear": false, "untie_embeddings_and_output_weights": true,
         "multi_latent_attention": true, "kv_lora_rank": 512, "qk_head_dim": 128, "qk_pos_emb_head_dim": 64,
         "v_head_dim": 128, "num_experts": 64, "moe_router_topk": 6, "moe_ffn_hidden_size": 1408,
         "moe_shared_expert_intermediate_size": 2816, "moe_layer_freq": 1, "first_k_dense_replace": 1})"}};

model::Transformer model_of(const char* text) {
  model::Transformer model;
  EXPECT_EQ(complaints_of(text, [&](const Node& root) { model = read_model(root, "m"); }), "");
  return model;
}

TEST(MegatronFamily, HasTheParametersOfTheFamily) {
  for (const SameModel& same : kSameModels) {
    SCOPED_TRACE(same.what);
    const model::Transformer family = model_of(same.family), megatron = model_of(same.megatron);
    EXPECT_EQ(model::total_parameters(megatron), model::total_parameters(family));
    EXPECT_EQ(megatron.kv_heads, family.kv_heads);
    EXPECT_EQ(megatron.head_dim, family.head_dim);
    EXPECT_EQ(megatron.activation, family.activation);
    EXPECT_EQ(megatron.norm, family.norm);
  }
}

TEST(MegatronFamily, LatentAttentionMayHaveNoPartWithPositions) {
  const auto read = [](const char* rotary) {
    return model_of((std::string(R"({"model_type": "megatron", "num_layers": 2, "hidden_size": 64, "vocab_size": 128,
        "num_attention_heads": 4, "ffn_hidden_size": 128, "position_embedding_type": "rope",
        "multi_latent_attention": true, "kv_lora_rank": 32, "qk_head_dim": 16, "v_head_dim": 16,
        "add_bias_linear": false, "qk_pos_emb_head_dim": )") +
                     rotary + "}")
                        .c_str());
  };
  // A layer has 8 x 4 x 64 weights of queries less, and 8 x 64 of keys.
  EXPECT_EQ(model::total_parameters(read("8")) - model::total_parameters(read("0")), 2 * (8 * 4 * 64 + 8 * 64));
}

TEST(MegatronFamily, HasWindowsInAllLayersButEveryNth) {
  const std::string start = R"({"model_type": "megatron", "num_layers": 4, "hidden_size": 64, "num_attention_heads": 4,
      "ffn_hidden_size": 128, "vocab_size": 128, "position_embedding_type": "rope")";
  const auto windows = [&](const std::string& rest) {
    const model::Transformer model = model_of((start + rest + "}").c_str());
    std::vector<std::int64_t> found;
    for (std::int64_t layer = 0; layer < 4; ++layer) found.push_back(model.local.window_of(layer));
    return found;
  };
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(windows(R"(, "window_size": 9, "window_attn_skip_freq": 2)"), (Windows{9, 0, 9, 0}));
  EXPECT_EQ(windows(R"(, "window_size": 9)"), (Windows{9, 9, 9, 9}));
  EXPECT_EQ(windows(""), (Windows{0, 0, 0, 0}));
  const auto complaints = [&](const std::string& rest) {
    return complaints_of((start + rest + "}").c_str(), [](const Node& root) { (void)read_model(root, "m"); });
  };
  EXPECT_NE(complaints(R"(, "window_attn_skip_freq": 2)").find("expected only with window_size"), std::string::npos);
}

TEST(MegatronFamily, RefusesWhatItDoesNotKnow) {
  const auto complaints = [](const char* text) {
    return complaints_of(text, [](const Node& root) { (void)read_model(root, "m"); });
  };
  EXPECT_NE(complaints(R"({"model_type": "megatron", "num_layers": 1})").find("/hidden_size: missing"),
            std::string::npos);
  EXPECT_NE(complaints(R"({"model_type": "megatron", "num_layers": 1, "hidden_size": 8, "num_attention_heads": 1,
                           "ffn_hidden_size": 8, "vocab_size": 8})")
                .find("/max_position_embeddings: missing"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken::io
