// Tests published parameter counts of the families since 2021.
//
// Each row holds the fields of a published config.json. Its count is the one of the checkpoint: the number of
// parameters in the header of its safetensors files, as huggingface.co shows it, with tied embeddings counted once.
#include "sim/io/model/newer_families.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sim/io/model/test_published.h"

namespace foretoken::io {
namespace {

constexpr PublishedConfig kPublished[] = {
    {"Qwen/Qwen3-32B",
     R"({"model_type": "qwen3", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 64,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 25600, "vocab_size": 151936,
         "hidden_act": "silu", "attention_bias": false, "max_position_embeddings": 40960, "max_window_layers": 64,
         "sliding_window": null, "use_sliding_window": false, "tie_word_embeddings": false})",
     32'762'123'264},
    {"Qwen/Qwen3-8B",
     R"({"model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936,
         "hidden_act": "silu", "tie_word_embeddings": false})",
     8'190'735'360},
    {"Qwen/Qwen3-0.6B",
     R"({"model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 1024, "num_attention_heads": 16,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
         "hidden_act": "silu", "tie_word_embeddings": true})",
     596'049'920},
    {"microsoft/Phi-3-mini-4k-instruct",
     R"({"model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 32064, "hidden_act": "silu",
         "resid_pdrop": 0.0, "embd_pdrop": 0.0, "sliding_window": 2047, "original_max_position_embeddings": 4096,
         "max_position_embeddings": 4096, "tie_word_embeddings": false})",
     3'821'079'552},
    {"microsoft/Phi-3-medium-4k-instruct",
     R"({"model_type": "phi3", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,
         "num_key_value_heads": 10, "intermediate_size": 17920, "vocab_size": 32064, "hidden_act": "silu",
         "sliding_window": 2047, "tie_word_embeddings": false})",
     13'960'238'080},
    {"google/gemma-2b",
     R"({"model_type": "gemma", "num_hidden_layers": 18, "hidden_size": 2048, "num_attention_heads": 8,
         "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 16384, "vocab_size": 256000,
         "hidden_act": "gelu", "hidden_activation": null})",
     2'506'172'416},
    {"google/gemma-7b",
     R"({"model_type": "gemma", "num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 16,
         "num_key_value_heads": 16, "head_dim": 256, "intermediate_size": 24576, "vocab_size": 256000,
         "hidden_activation": "gelu_pytorch_tanh"})",
     8'537'680'896},
    {"google/gemma-2-2b",
     R"({"model_type": "gemma2", "num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8,
         "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 256000,
         "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4096, "query_pre_attn_scalar": 256,
         "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "cache_implementation": "hybrid"})",
     2'614'341'888},
    {"google/gemma-2-9b",
     R"({"model_type": "gemma2", "num_hidden_layers": 42, "hidden_size": 3584, "num_attention_heads": 16,
         "num_key_value_heads": 8, "head_dim": 256, "intermediate_size": 14336, "vocab_size": 256000,
         "sliding_window": 4096})",
     9'241'705'984},
    {"google/gemma-3-1b-pt",
     R"({"model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152, "num_attention_heads": 4,
         "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 6912, "vocab_size": 262144,
         "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 512, "sliding_window_pattern": 6,
         "rope_local_base_freq": 10000})",
     999'885'952},
    {"tiiuae/falcon-7b (7,217,189,760 with the copy of the table that its files hold)",
     R"({"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71,
         "vocab_size": 65024, "multi_query": true, "parallel_attn": true, "bias": false, "alibi": false,
         "new_decoder_architecture": false})",
     std::int64_t{7'217'189'760} - std::int64_t{65024} * 4544},
    {"bigcode/starcoder2-3b",
     R"({"model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072, "num_attention_heads": 24,
         "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152, "use_bias": true,
         "hidden_act": "gelu_pytorch_tanh", "norm_type": "layer_norm", "norm_epsilon": 1e-05, "mlp_type": "default",
         "residual_dropout": 0.1, "embedding_dropout": 0.1, "attention_dropout": 0.1, "sliding_window": 4096})",
     3'030'371'328},
    {"bigcode/starcoder2-15b",
     R"({"model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144, "num_attention_heads": 48,
         "num_key_value_heads": 4, "intermediate_size": 24576, "vocab_size": 49152, "use_bias": true,
         "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": false})",
     15'957'889'024},
    {"bigcode/starcoderbase",
     R"({"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48, "n_inner": 24576,
         "n_positions": 8192, "vocab_size": 49152, "multi_query": true, "activation_function": "gelu_pytorch_tanh",
         "attention_softmax_in_fp32": true, "scale_attention_softmax_in_fp32": true, "scale_attn_weights": true})",
     15'517'456'384},
    {"bigcode/gpt_bigcode-santacoder",
     R"({"model_type": "gpt_bigcode", "n_layer": 24, "n_embd": 2048, "n_head": 16, "n_inner": 8192,
         "n_positions": 2048, "vocab_size": 49280, "multi_query": true, "activation_function": "gelu_pytorch_tanh"})",
     1'124'886'528},
    {"internlm/internlm2-1_8b",
     R"({"model_type": "internlm2", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 92544, "hidden_act": "silu",
         "bias": false, "tie_word_embeddings": false})",
     1'889'110'016},
    {"CohereForAI/c4ai-command-r-v01",
     R"({"model_type": "cohere", "num_hidden_layers": 40, "hidden_size": 8192, "num_attention_heads": 64,
         "num_key_value_heads": 64, "intermediate_size": 22528, "vocab_size": 256000, "logit_scale": 0.0625,
         "hidden_act": "silu", "use_qk_norm": false})",
     34'980'831'232},
    {"CohereForAI/aya-23-8B",
     R"({"model_type": "cohere", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 256000, "hidden_act": "silu"})",
     8'028'033'024},
    {"tiiuae/falcon-7b with its own code",
     R"({"model_type": "RefinedWebModel", "n_layer": 32, "hidden_size": 4544, "n_head": 71, "vocab_size": 65024,
         "multi_query": true, "parallel_attn": true, "alibi": false, "bias": false})",
     6'921'720'704},
    {"tiiuae/falcon-40b with its own code",
     R"({"model_type": "RefinedWeb", "n_layer": 60, "hidden_size": 8192, "n_head": 128, "n_head_kv": 8,
         "vocab_size": 65024, "parallel_attn": true, "alibi": false, "bias": false})",
     41'303'293'952},
    {"EleutherAI/gpt-j-6b",
     R"({"model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16, "n_positions": 2048, "n_inner": null,
         "vocab_size": 50400, "rotary": true, "rotary_dim": 64, "activation_function": "gelu_new",
         "tie_word_embeddings": false})",
     6'050'882'784},
    {"ibm-granite/granite-3.0-2b-base",
     R"({"model_type": "granite", "num_hidden_layers": 40, "hidden_size": 2048, "num_attention_heads": 32,
         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 49155, "hidden_act": "silu",
         "embedding_multiplier": 12.0, "residual_multiplier": 0.22, "logits_scaling": 8.0,
         "attention_multiplier": 0.015625, "tie_word_embeddings": true})",
     2'533'531'648},
    {"allenai/OLMo-1B-hf",
     R"({"model_type": "olmo", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 8192, "vocab_size": 50304, "hidden_act": "silu",
         "clip_qkv": null, "tie_word_embeddings": true})",
     1'176'764'416},
    {"allenai/OLMo-7B-hf",
     R"({"model_type": "olmo", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 50304, "hidden_act": "silu",
         "tie_word_embeddings": false})",
     6'888'095'744},
    {"allenai/OLMo-2-1124-7B",
     R"({"model_type": "olmo2", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352, "hidden_act": "silu",
         "tie_word_embeddings": false})",
     7'298'617'344},
    {"microsoft/phi-2",
     R"({"model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 10240, "vocab_size": 51200, "hidden_act": "gelu_new",
         "partial_rotary_factor": 0.4, "qk_layernorm": false, "resid_pdrop": 0.1, "embd_pdrop": 0.0,
         "tie_word_embeddings": false})",
     2'779'683'840},
    {"LGAI-EXAONE/EXAONE-4.0-32B by its modeling code: products, two norms behind, norms of each head, two tables",
     R"({"model_type": "exaone4", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 40,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27392, "vocab_size": 102400,
         "hidden_act": "silu", "sliding_window": 4096, "sliding_window_pattern": "LLLG",
         "tie_word_embeddings": false})",
     64LL * (5120 * 128 * (40 + 8 + 8 + 40) + 3 * 5120 * 27392 + 2 * 5120 + 2 * 128) + 2LL * 102400 * 5120 + 5120},
    {"HuggingFaceTB/SmolLM-135M",
     R"({"model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "num_attention_heads": 9,
         "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152, "hidden_act": "silu",
         "tie_word_embeddings": true})",
     134'515'008},
    {"HuggingFaceTB/SmolLM-1.7B",
     R"({"model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
         "num_key_value_heads": 32, "intermediate_size": 8192, "vocab_size": 49152, "hidden_act": "silu",
         "tie_word_embeddings": true})",
     1'711'376'384}};

TEST(NewerFamilies, ParameterCountsOfPublishedCheckpoints) { expect_parameters(kPublished); }

// Keys of neuronx-distributed beside those of a model. Experts in some layers would be another shape.
TEST(NewerFamilies, SettingsOfTheRunInAConfigChangeNothing) {
  const auto wrong = [](const std::string& more) {
    return complaints_of(R"({"model_type": "mixtral", "num_hidden_layers": 4, "hidden_size": 256,
                             "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 512,
                             "vocab_size": 1000, "num_local_experts": 4, "num_experts_per_tok": 2, )" +
                             more + "}",
                         [](const Node& root) { (void)read_model(root, "m"); });
  };
  EXPECT_EQ(wrong(R"("move_model_to_device": true, "use_flash_attention": true, "sequence_parallel_enabled": false,
                     "selective_checkpoint_enabled": false, "moe_frequency": 1)"),
            "");
  EXPECT_NE(wrong(R"("moe_frequency": 2)").find("moe_frequency"), std::string::npos);
}

constexpr const char* kExaone =
    R"("model_type": "exaone4", "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 4,
       "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1000)";

TEST(NewerFamilies, Exaone4SeesAWindowInThreeOfFourLayers) {
  const auto read = [](const std::string& more) {
    model::Transformer model;
    const std::string wrong = complaints_of("{" + std::string(kExaone) + more + "}",
                                            [&](const Node& root) { model = read_model(root, "m"); });
    return std::pair(model, wrong);
  };
  const auto [hybrid, none] = read(
      R"(, "sliding_window": 128, "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention",
          "full_attention"])");
  EXPECT_EQ(none, "");
  EXPECT_EQ(hybrid.local.window_of(0), 128);
  EXPECT_EQ(hybrid.local.window_of(2), 128);
  EXPECT_EQ(hybrid.local.window_of(3), 0);
  EXPECT_EQ(hybrid.norm_places, model::NormPlaces::kBehind);
  EXPECT_EQ(read(R"(, "sliding_window": null)").first.local.window, 0);
  EXPECT_NE(read(R"(, "sliding_window": 128, "sliding_window_pattern": "LG")").second.find("LLLG"), std::string::npos);
  EXPECT_NE(read(R"(, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention",
                   "sliding_attention", "full_attention"])")
                .second.find("every layer 4"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken::io
