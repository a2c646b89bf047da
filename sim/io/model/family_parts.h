// Reads parts of configs that several families of models share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "sim/io/json/node.h"
#include "sim/model/transformer.h"

namespace foretoken::io {

// The limits are far beyond any model, and small enough that every product of sizes stays exact.
inline constexpr WholeRange kLayers{.low = 1, .high = 100'000};
inline constexpr WholeRange kWidth{.low = 1, .high = std::int64_t{1} << 24};
inline constexpr WholeRange kPositionsRange{.low = 1, .high = std::int64_t{1} << 30};

/// Reads the activation of an MLP without a gate, and whether it is Hugging Face's gelu_new. `usual` is the name that a
/// config without the key stands for.
void read_plain_activation(const Node& node, std::string_view key, std::string_view usual, model::Transformer& model);

/// Reads the activation of an MLP with a gate.
[[nodiscard]] model::Activation gated_activation(const Node& node, std::string_view key);

/// The names that a family gives to the sizes of every transformer.
struct SizeNames {
  const char *layers = "", *hidden = "", *heads = "", *vocabulary = "";
};

/// Returns `name` where the config has it, else `other`, a second name of the same size. Complains where both are there
/// and differ.
[[nodiscard]] const char* name_of_size(const Node& node, const char* name, const char* other);

void read_sizes(const Node& node, const SizeNames& names, model::Transformer& model);

/// Refuses a switch in the position that we do not model.
void require_switch(const Node& node, std::string_view key, bool needed, std::string_view why);

/// Reads sizes with llama's names: rotary positions, grouped queries, no biases. `ffn` is the key of the MLP's width.
void read_llama_sizes(const Node& node, model::Transformer& model, std::string_view ffn = "intermediate_size");

/// Reads sizes, activation and dropout under GPT-2's keys. Every query has a key and a value of its own. `usual` is the
/// activation that an absent key means.
void read_gpt2_parts(const Node& node, std::string_view usual, model::Transformer& model);

/// Reads llama without its biases: sizes, RMSNorm and a gated MLP.
void read_unbiased(const Node& node, model::Transformer& model, std::string_view ffn = "intermediate_size");

/// Sets the biases of the attention's projection and of the MLP.
void set_linear_biases(bool projection, bool mlp, model::Transformer& model);

/// Reads `key`, the biases of queries, keys, values and the projection. The MLP has none. An absent key means `usual`.
void read_attention_biases(const Node& node, std::string_view key, bool usual, model::Transformer& model);

/// Reads attention_bias, for queries, keys, values and the projection, and mlp_bias. An absent key means `usual`.
void read_llama_biases(const Node& node, bool usual, model::Transformer& model);

/// Reads attention_bias and mlp_bias, which must be equal.
void read_optional_biases(const Node& node, model::Transformer& model);

/// Reads llama: its sizes, RMSNorm, a gated MLP and optional biases.
void read_llama(const Node& node, model::Transformer& model);

/// Reads `expert_popularity_shape`, model::Experts::popularity_shape. Below 0.1 no value but 0 is taken.
[[nodiscard]] double read_popularity_shape(const Node& node);

/// Reads how many experts a layer has, and how many a token takes. A token takes at most all of them.
[[nodiscard]] model::Experts read_expert_counts(const Node& node, std::string_view count, std::string_view per_token);

/// Reads the first layers that keep an MLP. At least one layer has experts.
[[nodiscard]] std::int64_t read_first_dense(const Node& node, std::int64_t layers, std::int64_t fallback,
                                            std::string_view key = "first_k_dense_replace");

/// Reads granite: llama with a multiplier of the embedding. Those of residuals and logits run inside other kernels.
void read_granite(const Node& node, model::Transformer& model);

/// Reads layers with attention to a window. Of every `every` layers the last sees all tokens.
void read_local_layers(const Node& node, std::int64_t every, model::Transformer& model);

/// The keys of read_llama().
inline constexpr std::string_view kLlamaKeys[] = {
    "num_hidden_layers",   "hidden_size", "num_attention_heads",     "vocab_size",     "intermediate_size",
    "num_key_value_heads", "head_dim",    "max_position_embeddings", "hidden_dropout", "attention_dropout",
    "tie_word_embeddings", "hidden_act",  "attention_bias",          "mlp_bias"};

/// Returns llama's keys and `more`.
[[nodiscard]] std::vector<std::string_view> with_llama_keys(std::initializer_list<std::string_view> more);

/// Returns the keys of read_granite().
[[nodiscard]] std::vector<std::string_view> granite_keys();

}  // namespace foretoken::io
