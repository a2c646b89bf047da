// Tests total and active parameters of published models with experts, and the configs that are refused.
//
// Each row holds the fields of a published config.json. A total is the one of the checkpoint, without layers of
// multi-token prediction: the number of parameters in the header of its safetensors files, as huggingface.co shows it.
// Where `published` names a rounded number, the test compares the exact count with it, too.
#include "sim/io/model/expert_families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

struct ExpertConfig {
  const char* name;  ///< on huggingface.co, the source of the config
  const char* config;
  std::int64_t total;                      ///< of the checkpoint
  double total_billions, active_billions;  ///< as published; 0: not
  double digit;                            ///< of the last published digit of the active parameters, in billions
  bool without_input_table;                ///< the published active parameters leave the input embedding out
  const char* published;                   ///< the source of both
};

constexpr ExpertConfig kPublishedExperts[] = {
    {"mistralai/Mixtral-8x7B-v0.1",
     R"({"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2,
         "vocab_size": 32000, "hidden_act": "silu", "sliding_window": null, "router_aux_loss_coef": 0.02,
         "output_router_logits": false, "tie_word_embeddings": false})",
     46'702'792'704, 47, 13, 1, false, "arXiv:2401.04088 section 2"},
    {"mistralai/Mixtral-8x22B-v0.1",
     R"({"model_type": "mixtral", "num_hidden_layers": 56, "hidden_size": 6144, "num_attention_heads": 48,
         "num_key_value_heads": 8, "intermediate_size": 16384, "num_local_experts": 8, "num_experts_per_tok": 2,
         "vocab_size": 32000, "hidden_act": "silu", "sliding_window": null, "tie_word_embeddings": false})",
     140'620'634'112, 141, 39, 1, false, "mistral.ai/news/mixtral-8x22b (141B, 39B active)"},
    {"Qwen/Qwen1.5-MoE-A2.7B",
     R"({"model_type": "qwen2_moe", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
         "decoder_sparse_step": 1, "norm_topk_prob": false, "vocab_size": 151936, "hidden_act": "silu",
         "sliding_window": 32768, "use_sliding_window": false, "tie_word_embeddings": false})",
     14'315'784'192, 14.3, 2.7, 0.1, false, "the model's card"},
    {"Qwen/Qwen3-30B-A3B",
     R"({"model_type": "qwen3_moe", "num_hidden_layers": 48, "hidden_size": 2048, "num_attention_heads": 32,
         "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 768,
         "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
         "norm_topk_prob": true, "vocab_size": 151936, "hidden_act": "silu", "tie_word_embeddings": false})",
     30'532'122'624, 30.5, 3.3, 0.1, false, "arXiv:2505.09388 section 2; the model's card"},
    {"Qwen/Qwen3-235B-A22B",
     R"({"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64,
         "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
         "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
         "vocab_size": 151936, "hidden_act": "silu", "tie_word_embeddings": false})",
     235'093'634'560, 235, 22, 1, false, "arXiv:2505.09388 section 2"},
    {"Qwen/Qwen3-Coder-480B-A35B-Instruct",
     R"({"model_type": "qwen3_moe", "num_hidden_layers": 62, "hidden_size": 6144, "num_attention_heads": 96,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192, "moe_intermediate_size": 2560,
         "num_experts": 160, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
         "use_qk_norm": true, "vocab_size": 151936, "hidden_act": "silu", "tie_word_embeddings": false})",
     480'154'875'392, 480, 35, 1, false, "the model's card"},
    {"allenai/OLMoE-1B-7B-0924",
     R"({"model_type": "olmoe", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8,
         "vocab_size": 50304, "hidden_act": "silu", "clip_qkv": null, "tie_word_embeddings": false})",
     6'919'161'856, 6.9, 1.3, 0.1, false, "arXiv:2409.02060 section 1"},
    {"openai/gpt-oss-120b",
     R"({"model_type": "gpt_oss", "num_hidden_layers": 36, "hidden_size": 2880, "num_attention_heads": 64,
         "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_local_experts": 128,
         "num_experts_per_tok": 4, "experts_per_token": 4, "vocab_size": 201088, "attention_bias": true,
         "hidden_act": "silu", "sliding_window": 128, "initial_context_length": 4096, "swiglu_limit": 7.0,
         "tie_word_embeddings": false})",
     116'829'156'672, 116.83, 5.13, 0.01, true, "arXiv:2508.10925 table 1"},
    {"openai/gpt-oss-20b",
     R"({"model_type": "gpt_oss", "num_hidden_layers": 24, "hidden_size": 2880, "num_attention_heads": 64,
         "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_local_experts": 32,
         "num_experts_per_tok": 4, "vocab_size": 201088, "attention_bias": true, "sliding_window": 128,
         "tie_word_embeddings": false})",
     20'914'757'184, 20.91, 3.61, 0.01, true, "arXiv:2508.10925 table 1"},
    {"databricks/dbrx-base",
     R"({"model_type": "dbrx", "n_layers": 40, "d_model": 6144, "n_heads": 48, "vocab_size": 100352,
         "max_seq_len": 32768, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000},
         "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
         "tie_word_embeddings": false})",
     131'596'523'520, 132, 36, 1, false, "the model's card"},
    {"MiniMaxAI/MiniMax-M2.5",
     R"({"model_type": "minimax_m2", "num_hidden_layers": 62, "hidden_size": 3072, "num_attention_heads": 48,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 1536, "num_local_experts": 256,
         "num_experts_per_tok": 8, "vocab_size": 200064, "hidden_act": "silu", "rotary_dim": 64, "use_qk_norm": true,
         "qk_norm_type": "per_layer", "use_routing_bias": true, "use_mtp": true, "num_mtp_modules": 3,
         "mtp_transformer_layers": 1, "shared_intermediate_size": 0, "scoring_func": "sigmoid",
         "tie_word_embeddings": false})",
     228'689'764'864, 0, 10, 1, true, "the model's card (10B active)"},
    {"deepseek-ai/DeepSeek-V2-Lite",
     R"({"model_type": "deepseek_v2", "num_hidden_layers": 27, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 10944, "moe_intermediate_size": 1408, "kv_lora_rank": 512,
         "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2,
         "num_experts_per_tok": 6, "vocab_size": 102400, "hidden_act": "silu", "attention_bias": false,
         "scoring_func": "softmax", "topk_method": "greedy"})",
     15'706'484'224, 15.7, 2.4, 0.1, true, "arXiv:2405.04434 appendix B"},
    {"deepseek-ai/DeepSeek-V2",
     R"({"model_type": "deepseek_v2", "num_hidden_layers": 60, "hidden_size": 5120, "num_attention_heads": 128,
         "num_key_value_heads": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536, "kv_lora_rank": 512,
         "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_routed_experts": 160, "n_shared_experts": 2,
         "num_experts_per_tok": 6, "n_group": 8, "topk_group": 3, "topk_method": "group_limited_greedy",
         "vocab_size": 102400, "hidden_act": "silu", "routed_scaling_factor": 16.0})",
     235'741'434'880, 236, 21, 1, false, "arXiv:2405.04434 abstract"},
    {"deepseek-ai/DeepSeek-V3",
     R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
         "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "kv_lora_rank": 512,
         "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "num_nextn_predict_layers": 1, "n_group": 8, "topk_group": 4,
         "topk_method": "noaux_tc", "vocab_size": 129280, "hidden_act": "silu", "tie_word_embeddings": false})",
     671'026'419'200, 671, 37, 1, true, "arXiv:2412.19437 abstract"},
    {"deepseek-ai/DeepSeek-R1",
     R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 128,
         "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048, "kv_lora_rank": 512,
         "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "first_k_dense_replace": 3, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "num_nextn_predict_layers": 1, "vocab_size": 129280, "hidden_act": "silu",
         "tie_word_embeddings": false})",
     671'026'419'200, 671, 37, 1, true, "the model's card"},
    {"moonshotai/Kimi-K2-Base",
     R"({"model_type": "kimi_k2", "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 64,
         "num_key_value_heads": 64, "intermediate_size": 18432, "moe_intermediate_size": 2048, "kv_lora_rank": 512,
         "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
         "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_routed_experts": 384, "n_shared_experts": 1,
         "num_experts_per_tok": 8, "num_nextn_predict_layers": 0, "topk_method": "noaux_tc", "vocab_size": 163840,
         "hidden_act": "silu", "tie_word_embeddings": false})",
     1'026'408'232'448, 0, 32, 1, true, "arXiv:2507.20534 abstract (1 trillion, 32 billion active)"},
    {"zai-org/GLM-4.7 without norms of queries and keys",
     R"({"model_type": "glm4_moe", "num_hidden_layers": 92, "hidden_size": 5120, "num_attention_heads": 96,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
         "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
         "vocab_size": 151552, "routed_scaling_factor": 2.5, "tie_word_embeddings": false})",
     352'796'486'560, 0, 0, 0, false, "by hand"},
    {"zai-org/GLM-4.7-Flash",
     R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 47, "hidden_size": 2048, "num_attention_heads": 20,
         "num_key_value_heads": 20, "head_dim": 64, "intermediate_size": 10240, "moe_intermediate_size": 1536,
         "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4, "first_k_dense_replace": 1,
         "kv_lora_rank": 512, "q_lora_rank": 768, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256,
         "routed_scaling_factor": 1.8, "num_nextn_predict_layers": 1, "vocab_size": 154880,
         "tie_word_embeddings": false})",
     29'943'393'920, 30, 0, 0, false, "the model's card (30B-A3B)"},
    {"deepseek-ai/deepseek-moe-16b-base",
     R"({"model_type": "deepseek", "num_hidden_layers": 28, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 64,
         "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1,
         "vocab_size": 102400, "scoring_func": "softmax", "tie_word_embeddings": false})",
     16'375'728'128, 16.4, 2.8, 0.1, false, "arXiv:2401.06066 section 5"},
    {"rednote-hilab/dots.llm1.base",
     R"({"model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 10944, "moe_intermediate_size": 1408,
         "n_routed_experts": 128, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
         "vocab_size": 152064, "sliding_window": null, "tie_word_embeddings": false})",
     142'774'381'696, 142, 14, 1, false, "arXiv:2506.05767 abstract"},
    {"ibm-granite/granite-3.1-3b-a800m-base",
     R"({"model_type": "granitemoe", "num_hidden_layers": 32, "hidden_size": 1536, "num_attention_heads": 24,
         "num_key_value_heads": 8, "intermediate_size": 512, "num_local_experts": 40, "num_experts_per_tok": 8,
         "vocab_size": 49155, "embedding_multiplier": 12.0, "residual_multiplier": 0.22, "logits_scaling": 6.0,
         "tie_word_embeddings": true})",
     3'298'793'472, 3.3, 0.8, 0.1, true, "the model's card"},
    {"granitemoeshared: an expert of every token beside them",
     R"({"model_type": "granitemoeshared", "num_hidden_layers": 32, "hidden_size": 1536, "num_attention_heads": 24,
         "num_key_value_heads": 8, "intermediate_size": 512, "num_local_experts": 40, "num_experts_per_tok": 8,
         "shared_intermediate_size": 1024, "vocab_size": 49155, "tie_word_embeddings": true})",
     3'298'793'472 + 32 * 3 * 1536 * 1024, 0, 0, 0, false, "by hand"},
    {"baidu/ERNIE-4.5-21B-A3B-PT",
     R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 28, "hidden_size": 2560, "num_attention_heads": 20,
         "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
         "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_k": 6, "moe_layer_start_index": 1,
         "moe_layer_end_index": 27, "moe_layer_interval": 1, "moe_capacity": [64, 64, 64], "moe_gate": "topk",
         "moe_use_aux_free": true, "use_bias": false, "vocab_size": 103424, "tie_word_embeddings": true})",
     21'825'437'888, 21.8, 3, 1, false, "the model's card"}};

const ExpertConfig& published_as(std::string_view name) {
  return *std::ranges::find_if(kPublishedExperts, [&](const ExpertConfig& each) { return each.name == name; });
}

TEST(ExpertFamilies, ParametersOfPublishedModels) {
  for (const ExpertConfig& published : kPublishedExperts) {
    SCOPED_TRACE(published.name);
    Findings findings;
    const auto document = document_from_text(published.config, "t.json", findings);
    ASSERT_TRUE(document);
    const model::Transformer whole = read_model(document->root(findings), "t");
    ASSERT_EQ(lines_of(findings.complaints), "");
    const model::Transformer model = model::without_prediction(whole);
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), published.total);
    const double total = published.total_billions * 1e9;
    if (total > 0) {
      EXPECT_NEAR(model::total_parameters(model) / total, 1, 0.007) << published.published;
    }
    const double table = published.without_input_table ? model::embedding_parameters(model) : 0;
    if (published.active_billions > 0) {
      EXPECT_NEAR((model::active_parameters(model) - table) / 1e9, published.active_billions, 0.75 * published.digit)
          << published.published;
    }
  }
}

TEST(ExpertFamilies, PopularityIsReadInEveryFamily) {
  for (const ExpertConfig& published : kPublishedExperts)
    for (const double shape : {0.0, 0.1, 2.0, 1e6}) {
      SCOPED_TRACE(published.name);
      nlohmann::json config = nlohmann::json::parse(published.config);
      EXPECT_EQ(config.count("expert_popularity_shape"), 0U) << "no published config has the key";
      config["expert_popularity_shape"] = shape;
      Findings findings;
      const auto document = document_from_text(config.dump(), "t.json", findings);
      const model::Transformer model = read_model(document->root(findings), "t");
      EXPECT_EQ(lines_of(findings.complaints), "");
      ASSERT_TRUE(model.experts);
      EXPECT_EQ(model.experts->popularity_shape, shape);
    }
}

TEST(ExpertFamilies, LayersOfMultiTokenPredictionCountByThemselves) {
  Findings findings;
  const auto document = document_from_text(published_as("deepseek-ai/DeepSeek-V3").config, "t.json", findings);
  const model::Transformer model = read_model(document->root(findings), "t");
  ASSERT_EQ(model.prediction_layers, 1);
  // arXiv:2412.19437, README of deepseek-ai/DeepSeek-V3: 14B of weights with embedding and head, which are shared
  const double layer = model::total_parameters(model) - model::total_parameters(model::without_prediction(model));
  const double shared = 2.0 * 129280 * 7168;
  EXPECT_NEAR((layer + shared) / 1e9, 14, 0.7);
  const double h = 7168;
  const double attention = h * 1536 + 1536 + 1536 * 128 * 192 + h * 576 + 512 + 512 * 128 * 256 + 128 * 128 * h;
  const double experts = 257 * 3 * h * 2048 + 256 * h + 256;
  EXPECT_EQ(layer, attention + experts + 2 * h + 2 * h + 2 * h * h + h)
      << "with its two norms, projection and last norm";
}

// Llama 4 Maverick: experts in every second layer, and a wider MLP in the others.
TEST(ExpertFamilies, EverySecondLayerOfMaverickHasExperts) {
  Findings findings;
  const auto document = document_from_text(
      R"({"model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120, "num_attention_heads": 40,
          "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
          "num_local_experts": 128, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "vocab_size": 202048,
          "attention_chunk_size": 8192, "use_qk_norm": false, "tie_word_embeddings": false})",
      "t.json", findings);
  const model::Transformer model = read_model(document->root(findings), "t");
  EXPECT_EQ(lines_of(findings.complaints), "");
  EXPECT_EQ(model.attention_window, 8192);
  const double h = 5120, attention = 2 * h * h + 2 * h * 1024 + 2 * h, expert = 3 * h * 8192;
  const double layers = 48 * attention + 24 * 3 * h * 16384 + 24 * (129 * expert + 128 * h);
  EXPECT_EQ(model::total_parameters(model), layers + 2.0 * 202048 * h + h);
  EXPECT_NEAR(model::total_parameters(model) / 1e9, 400, 2.5) << "Llama 4 model card: 400B total, 17B active";
  EXPECT_NEAR(model::active_parameters(model) / 1e9, 17, 0.5);
}

TEST(ExpertFamilies, Llama4ListsItsLayersWithExperts) {
  const auto read = [](const std::string& listed, Findings& findings) {
    const auto document = document_from_text(
        R"({"model_type": "llama4_text", "num_hidden_layers": 6, "hidden_size": 512, "num_attention_heads": 4,
            "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 1024, "intermediate_size_mlp": 2048,
            "num_local_experts": 8, "num_experts_per_tok": 1, "vocab_size": 1024, "moe_layers": )" +
            listed + "}",
        "t.json", findings);
    return read_model(document->root(findings), "t");
  };
  Findings right, wrong;
  EXPECT_EQ(read("[1, 3, 5]", right).experts->every, 2);
  EXPECT_EQ(read("[2, 5]", right).experts->every, 3);
  EXPECT_EQ(read("[2, 3, 4, 5]", right).experts->dense_first, 2);
  EXPECT_EQ(read("[0, 1, 2, 3, 4, 5]", right).experts->dense_first, 0);
  EXPECT_EQ(read("[5]", right).experts->dense_first, 5);
  EXPECT_FALSE(read("[]", right).experts.has_value());
  EXPECT_EQ(lines_of(right.complaints), "");
  (void)read("[0, 2, 4]", wrong);
  EXPECT_EQ(lines_of(wrong.complaints),
            "t.json: /moe_layers: expected every n-th layer of the model, or all layers behind the first dense ones\n");
}

// Llama 4 Scout: experts in every layer.
TEST(ExpertFamilies, EveryLayerOfScoutHasExperts) {
  Findings findings;
  const auto document = document_from_text(
      R"({"model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120, "num_attention_heads": 40,
          "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
          "num_local_experts": 16, "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "vocab_size": 202048,
          "attention_chunk_size": 8192, "use_qk_norm": true, "tie_word_embeddings": false})",
      "t.json", findings);
  const model::Transformer model = read_model(document->root(findings), "t");
  EXPECT_EQ(lines_of(findings.complaints), "");
  const double h = 5120, attention = 2 * h * h + 2 * h * 1024 + 2 * h, expert = 3 * h * 8192;
  EXPECT_EQ(model::total_parameters(model), 48 * (attention + 17 * expert + 16 * h) + 2.0 * 202048 * h + h);
  EXPECT_NEAR(model::total_parameters(model) / 1e9, 109, 1.5) << "Llama 4 model card: 109B with its vision encoder";
  EXPECT_NEAR(model::active_parameters(model) / 1e9, 17, 0.5);
}

// xai-org/grok-1, README: 314B parameters, 25 % of the weights active. The text config's sizes give 315.7B.
TEST(ExpertFamilies, GrokHasNormsOnBothSides) {
  Findings findings;
  const auto document = document_from_text(
      R"({"model_type": "grok-1", "num_hidden_layers": 64, "hidden_size": 6144, "num_attention_heads": 48,
          "num_key_value_heads": 8, "intermediate_size": 32768, "num_experts": 8, "num_experts_per_tok": 2,
          "vocab_size": 131072, "tie_word_embeddings": true})",
      "t.json", findings);
  const model::Transformer model = read_model(document->root(findings), "t");
  EXPECT_EQ(lines_of(findings.complaints), "");
  const double h = 6144, layer = 2 * h * h + 2 * h * 1024 + 4 * h + 8 * 3 * h * 32768 + 8 * h;
  EXPECT_EQ(model::total_parameters(model), 64 * layer + 131072 * h + h);
  EXPECT_NEAR(model::total_parameters(model) / 314e9, 1, 0.006);
  EXPECT_NEAR(model::active_parameters(model) / model::total_parameters(model), 0.25, 0.02);
}

struct RefusedConfig {
  const char* name;
  const char* config;  ///< merged over Qwen3-30B-A3B's
  const char* complaint;
};

constexpr RefusedConfig kRefusedConfigs[] = {
    {"a misspelt number of experts", R"({"num_routed_experts": 128})", "/num_routed_experts: unknown key"},
    {"more experts a token than experts", R"({"num_experts_per_tok": 129})",
     "/num_experts_per_tok: expected at most 128, the experts of a layer, found 129"},
    {"no experts", R"({"num_experts": 0})", "/num_experts: expected a whole number from 1 to 1048576, found 0"},
    {"experts in words", R"({"num_experts": "many"})",
     "/num_experts: expected a whole number from 1 to 1048576, found a string \"many\""},
    {"no expert a token", R"({"num_experts_per_tok": 0})",
     "/num_experts_per_tok: expected a whole number from 1 to 1048576, found 0"},
    {"no width", R"({"moe_intermediate_size": null})",
     "/moe_intermediate_size: missing; expected a whole number from 1 to 16777216"},
    {"dense layers in the middle", R"({"mlp_only_layers": [0, 7]})",
     "/mlp_only_layers/1: expected the first layers of the model in order"},
    {"a popularity between none and the least", R"({"expert_popularity_shape": 0.09})",
     "/expert_popularity_shape: expected 0 (all experts are equally popular) or a number from 0.1 on, found 0.09"},
    {"a popularity below 0", R"({"expert_popularity_shape": -1})",
     "/expert_popularity_shape: expected a number from 0 to 1000000, found -1"},
    {"a popularity that is text", R"({"expert_popularity_shape": "even"})",
     "/expert_popularity_shape: expected a number"},
    {"an indexer", R"({"model_type": "deepseek_v32"})",
     "/model_type: \"deepseek_v32\" is not supported: it has attention to tokens that an indexer chooses"},
    {"latents in a family without", R"({"kv_lora_rank": 512})",
     "/kv_lora_rank: models of this model_type have no latent attention"}};

// Each wrong config has one line.
void expect_refused(const char* config, const RefusedConfig& refused) {
  SCOPED_TRACE(refused.name);
  nlohmann::json value = nlohmann::json::parse(config);
  value.merge_patch(nlohmann::json::parse(refused.config));
  Findings findings;
  const auto document = document_from_text(value.dump(), "t.json", findings);
  (void)read_model(document->root(findings), "t");
  EXPECT_EQ(findings.complaints.size(), 1U);
  EXPECT_NE(lines_of(findings.complaints).find(refused.complaint), std::string::npos) << lines_of(findings.complaints);
}

TEST(ExpertFamilies, RefusedConfigs) {
  for (const RefusedConfig& refused : kRefusedConfigs)
    expect_refused(published_as("Qwen/Qwen3-30B-A3B").config, refused);
}

constexpr const char* kDeepSeek = R"({"model_type": "deepseek_v3", "num_hidden_layers": 8, "hidden_size": 7168,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 3,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 129280, "hidden_act": "silu", "num_nextn_predict_layers": 1})";

constexpr RefusedConfig kRefusedLatents[] = {
    {"no rank of keys and values", R"({"kv_lora_rank": null})",
     "/kv_lora_rank: missing; expected a whole number from 1 to 16777216"},
    {"a rank of 0", R"({"kv_lora_rank": 0})", "/kv_lora_rank: expected a whole number from 1 to 16777216, found 0"},
    {"a negative rank of queries", R"({"q_lora_rank": -1})", "/q_lora_rank: expected a whole number from 1"},
    {"no width of values", R"({"v_head_dim": null})",
     "/v_head_dim: missing; expected a whole number from 1 to 16777216"},
    {"no positions", R"({"qk_rope_head_dim": null})",
     "/qk_rope_head_dim: missing; expected a whole number from 1 to 16777216"},
    {"only dense layers", R"({"first_k_dense_replace": 8})",
     "/first_k_dense_replace: expected fewer than the 8 layers of the model, found 8: none has experts"},
    {"experts in every second layer", R"({"moe_layer_freq": 2})",
     "/moe_layer_freq: expected 1: experts in every layer after the first dense ones"},
    {"shared experts below 0", R"({"n_shared_experts": -1})",
     "/n_shared_experts: expected a whole number from 0 to 1048576, found -1"},
    {"too many layers of prediction", R"({"num_nextn_predict_layers": 17})",
     "/num_nextn_predict_layers: expected a whole number from 0 to 16, found 17"}};

constexpr const char* kGlmFlash = R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 4, "hidden_size": 256,
    "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 1024, "moe_intermediate_size": 128,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "q_lora_rank": 64, "kv_lora_rank": 64, "qk_nope_head_dim": 48,
    "qk_rope_head_dim": 16, "v_head_dim": 64, "vocab_size": 1024})";

// configuration_glm4_moe_lite.py: a shared expert and a dense first layer where no key says otherwise
TEST(ExpertFamilies, GlmLiteHasDefaultsOfItsOwn) {
  const auto read = [](const std::string& more, Findings& findings) {
    nlohmann::json config = nlohmann::json::parse(kGlmFlash);
    config.merge_patch(nlohmann::json::parse(more));
    return read_model(document_from_text(config.dump(), "t.json", findings)->root(findings), "t").experts.value();
  };
  Findings right;
  EXPECT_EQ(read("{}", right).shared_width, 128);
  EXPECT_EQ(read("{}", right).dense_first, 1);
  EXPECT_EQ(read(R"({"first_k_dense_replace": 2})", right).dense_first, 2);
  EXPECT_EQ(read(R"({"mlp_layer_types": ["dense", "dense", "dense", "sparse"]})", right).dense_first, 3);
  EXPECT_EQ(lines_of(right.complaints), "");
  for (const auto& [types, complaint] :
       {std::pair{R"(["dense", "sparse", "dense", "sparse"])", "/mlp_layer_types/2: expected \"sparse\""},
        {R"(["dense", "dense", "dense", "dense"])", "/mlp_layer_types: expected some \"sparse\""},
        {R"(["dense", "sparse"])", "/mlp_layer_types: expected 4 entries"}}) {
    Findings wrong;
    (void)read(R"({"mlp_layer_types": )" + std::string(types) + "}", wrong);
    EXPECT_NE(lines_of(wrong.complaints).find(complaint), std::string::npos) << lines_of(wrong.complaints);
  }
}

constexpr RefusedConfig kRefusedErnies[] = {
    {"dense layers at the end", R"({"moe_layer_end_index": 20})",
     "/moe_layer_end_index: expected -1 or the last layer"},
    {"an end for text and one for images", R"({"moe_layer_end_index": [27, 27]})",
     "/moe_layer_end_index: expected a whole number of at least -1, found an array"},
    {"only dense layers", R"({"moe_layer_start_index": 28})", "/moe_layer_start_index: expected fewer than the 28"},
    {"biases", R"({"use_bias": true})", "/use_bias: expected false"}};

TEST(ExpertFamilies, RefusedErnies) {
  for (const RefusedConfig& refused : kRefusedErnies)
    expect_refused(published_as("baidu/ERNIE-4.5-21B-A3B-PT").config, refused);
}

TEST(ExpertFamilies, RefusedLatents) {
  for (const RefusedConfig& refused : kRefusedLatents) expect_refused(kDeepSeek, refused);
}

}  // namespace
}  // namespace foretoken::io
