// Sizes of further models by their names.
//
// Sizes: the config.json of each on Hugging Face, of the organisations allenai, google, bigcode, CohereForAI, Qwen,
// internlm, mistralai, TinyLlama, EleutherAI, microsoft, THUDM, zai-org, ByteDance-Seed and ibm-granite. A test
// compares their published parameters. The models of deepcogito have those of their base: Llama 3.1 and Qwen 2.5.
#include "sim/io/import/launch/names/sized_model.h"

namespace foretoken::io::launch {
namespace {

constexpr Sized kMoreModels[] = {{"qwen2math15b", "qwen2", 28, 1536, 12, 2, 128, 8960, 151936, true},
                                 {"qwen2math7b", "qwen2", 28, 3584, 28, 4, 128, 18944, 152064},
                                 {"qwen2math72b", "qwen2", 80, 8192, 64, 8, 128, 29568, 152064},
                                 {"qwen25math72b", "qwen2", 80, 8192, 64, 8, 128, 29568, 152064},
                                 {"tinyllamav11", "llama", 22, 2048, 32, 4, 64, 5632, 32000},
                                 {"olmo1b", "olmo", 16, 2048, 16, 16, 128, 8192, 50304, true},
                                 {"olmo7b", "olmo", 32, 4096, 32, 32, 128, 11008, 50304},
                                 {"olmo204251b", "olmo2", 16, 2048, 16, 16, 128, 8192, 100352},
                                 {"olmo211247b", "olmo2", 32, 4096, 32, 32, 128, 11008, 100352},
                                 {"olmo2112413b", "olmo2", 40, 5120, 40, 40, 128, 13824, 100352},
                                 {"olmo2032532b", "olmo2", 64, 5120, 40, 8, 128, 27648, 100352},
                                 {"gemma3270m", "gemma3_text", 18, 640, 4, 1, 256, 2048, 262144, true},
                                 {"gemma31b", "gemma3_text", 26, 1152, 4, 1, 256, 6912, 262144, true},
                                 {"gemma31bpt", "gemma3_text", 26, 1152, 4, 1, 256, 6912, 262144, true},
                                 {"starcoder23b", "starcoder2", 30, 3072, 24, 2, 128, 12288, 49152, true},
                                 {"starcoder27b", "starcoder2", 32, 4608, 36, 4, 128, 18432, 49152, true},
                                 {"starcoder215b", "starcoder2", 40, 6144, 48, 4, 128, 24576, 49152},
                                 {"c4aicommandr", "cohere", 40, 8192, 64, 64, 128, 22528, 256000, true},
                                 {"aya238b", "cohere", 32, 4096, 32, 8, 128, 14336, 256000, true},
                                 {"internlm218b", "internlm2", 24, 2048, 16, 8, 128, 8192, 92544},
                                 {"internlm2518b", "internlm2", 24, 2048, 16, 8, 128, 8192, 92544},
                                 {"magistralsmall2506", "mistral", 40, 5120, 32, 8, 128, 32768, 131072},
                                 {"devstralsmall2505", "mistral", 40, 5120, 32, 8, 128, 32768, 131072},
                                 {"devstralsmall", "mistral", 40, 5120, 32, 8, 128, 32768, 131072},  // "2507"
                                 {"granite318b", "granite", 40, 4096, 32, 8, 128, 12800, 49155, true},
                                 {"cogitov1previewqwen14b", "qwen2", 48, 5120, 40, 8, 128, 13824, 152064},
                                 {"cogitov1previewqwen32b", "qwen2", 64, 5120, 40, 8, 128, 27648, 152064},
                                 {"pythia70m", "gpt_neox", 6, 512, 8, 8, 64, 2048, 50304},
                                 {"pythia160m", "gpt_neox", 12, 768, 12, 12, 64, 3072, 50304},
                                 {"pythia410m", "gpt_neox", 24, 1024, 16, 16, 64, 4096, 50304},
                                 {"pythia1b", "gpt_neox", 16, 2048, 8, 8, 256, 8192, 50304},
                                 {"pythia14b", "gpt_neox", 24, 2048, 16, 16, 128, 8192, 50304},
                                 {"pythia28b", "gpt_neox", 32, 2560, 32, 32, 80, 10240, 50304},
                                 {"pythia69b", "gpt_neox", 32, 4096, 32, 32, 128, 16384, 50432},
                                 {"pythia12b", "gpt_neox", 36, 5120, 40, 40, 128, 20480, 50688}};

constexpr Configured kConfiguredModels[] = {
    {"qwen15moea27b",
     R"({"model_type": "qwen2_moe", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 5632, "moe_intermediate_size": 1408,
         "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
         "decoder_sparse_step": 1, "vocab_size": 151936, "tie_word_embeddings": false})"},
    {"olmoe1b7b0924",
     R"({"model_type": "olmoe", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
         "num_key_value_heads": 16, "intermediate_size": 1024, "num_experts": 64, "num_experts_per_tok": 8,
         "vocab_size": 50304, "tie_word_embeddings": false})"},
    {"qwen257ba14b",
     R"({"model_type": "qwen2_moe", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
         "num_key_value_heads": 4, "intermediate_size": 18944, "moe_intermediate_size": 2560,
         "shared_expert_intermediate_size": 20480, "num_experts": 64, "num_experts_per_tok": 8,
         "decoder_sparse_step": 1, "vocab_size": 151936, "tie_word_embeddings": false})"},
    {"glm45air",
     R"({"model_type": "glm4_moe", "num_hidden_layers": 46, "hidden_size": 4096, "num_attention_heads": 96,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 10944, "moe_intermediate_size": 1408,
         "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
         "attention_bias": true, "vocab_size": 151552, "tie_word_embeddings": false})"},
    {"glm45",
     R"({"model_type": "glm4_moe", "num_hidden_layers": 92, "hidden_size": 5120, "num_attention_heads": 96,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
         "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
         "attention_bias": true, "vocab_size": 151552, "tie_word_embeddings": false})"},
    {"phi2",
     R"({"model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32,
         "intermediate_size": 10240, "resid_pdrop": 0.1, "vocab_size": 51200, "tie_word_embeddings": false})"},
    {"glm49b0414",
     R"({"model_type": "glm4", "num_hidden_layers": 40, "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 13696, "attention_bias": true,
         "vocab_size": 151552, "tie_word_embeddings": false})"},
    {"glm432b0414",
     R"({"model_type": "glm4", "num_hidden_layers": 61, "hidden_size": 6144, "num_attention_heads": 48,
         "num_key_value_heads": 2, "head_dim": 128, "intermediate_size": 23040, "attention_bias": false,
         "vocab_size": 151552, "tie_word_embeddings": false})"},
    {"seedoss36b",
     R"({"model_type": "seed_oss", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 80,
         "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27648, "vocab_size": 155136,
         "tie_word_embeddings": false})"},
    // Rotary positions of two dimensions cost what those of one do: modeling_chatglm.py. The head is the table.
    {"chatglm6b",
     R"({"model_type": "megatron", "num_layers": 28, "hidden_size": 4096, "num_attention_heads": 32,
         "ffn_hidden_size": 16384, "position_embedding_type": "rope", "activation": "gelu",
         "normalization": "LayerNorm", "add_bias_linear": true, "vocab_size": 130528,
         "untie_embeddings_and_output_weights": false})"}};

}  // namespace

std::span<const Configured> configured_models() { return kConfiguredModels; }

std::span<const Sized> more_sized_models() { return kMoreModels; }

}  // namespace foretoken::io::launch
