// Reads the fields that several families share.
#include "sim/io/model/family_parts.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace foretoken::io {

using model::Activation;
using model::Norm;
using model::Positions;
using model::Transformer;

void read_plain_activation(const Node& node, std::string_view key, std::string_view usual, Transformer& model) {
  struct Named {
    Activation activation;
    bool gelu_new = false;
    bool is_silu = false;
  };
  const Named unstated = usual == "relu"    ? Named{Activation::kRelu}
                         : usual == "relu2" ? Named{Activation::kSquaredRelu}
                                            : Named{Activation::kGelu, usual == "gelu_new"};
  const Named named = node.one_of_or<Named>(key, unstated,
                                            {{"gelu", {Activation::kGelu}},
                                             {"gelu_new", {Activation::kGelu, true}},
                                             {"gelu_fast", {Activation::kGelu}},
                                             {"gelu_pytorch_tanh", {Activation::kGelu}},
                                             {"gelu_python", {Activation::kGelu}},
                                             {"quick_gelu", {Activation::kGelu}},
                                             {"relu", {Activation::kRelu}},
                                             {"relu2", {Activation::kSquaredRelu}},
                                             {"silu", {Activation::kGelu, false, true}},
                                             {"swish", {Activation::kGelu, false, true}}});
  if (named.is_silu)  // torch.nn.functional.silu and gelu each have one kernel forward and one backward
    node.findings().notes.assumptions.push_back(
        fmt::format("{} {} counts as gelu: its kernels move the same bytes", key, node.text_or(key, "silu")));
  model.activation = named.activation;
  model.gelu_new = named.gelu_new;
}

Activation gated_activation(const Node& node, std::string_view key) {
  return node.one_of_or(key, Activation::kSwiGlu,
                        {{"silu", Activation::kSwiGlu},
                         {"swish", Activation::kSwiGlu},
                         {"gelu", Activation::kGeGlu},
                         {"gelu_new", Activation::kGeGlu},
                         {"gelu_pytorch_tanh", Activation::kGeGlu}});
}

const char* name_of_size(const Node& node, const char* name, const char* other) {
  if (!node.has(name)) return other;
  if (node.has(other) && node.child(other).value() != node.child(name).value())
    node.complain(
        other, fmt::format("expected {} as {}, found {}", node.child(name).found(), name, node.child(other).found()));
  return name;
}

void read_sizes(const Node& node, const SizeNames& names, Transformer& model) {
  model.layers = node.whole(names.layers, kLayers);
  model.hidden = node.whole(names.hidden, kWidth);
  model.heads = node.whole(names.heads, kWidth);
  model.vocabulary = node.whole(names.vocabulary, kWidth);
  model.kv_heads = model.heads;
}

void require_switch(const Node& node, std::string_view key, bool needed, std::string_view why) {
  if (node.boolean_or(key, needed) != needed)
    node.complain(key, fmt::format("expected {}, found {}: {}", needed, !needed, why));
}

void read_llama_sizes(const Node& node, Transformer& model, std::string_view ffn) {
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole(ffn, kWidth);
  model.kv_heads = node.whole_or("num_key_value_heads", model.heads, kWidth);
  if (const auto head_dim = node.find_whole("head_dim", kWidth)) model.head_dim = *head_dim;
  (void)node.find_whole("max_position_embeddings", kPositionsRange);
  model.positions = Positions::kRotary;
  model.linear_bias = model.qkv_bias = false;
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
}

void read_unbiased(const Node& node, Transformer& model, std::string_view ffn) {
  read_llama_sizes(node, model, ffn);
  model.norm = Norm::kRmsNorm;
  model.activation = gated_activation(node, "hidden_act");
}

void set_linear_biases(bool projection, bool mlp, Transformer& model) {
  model.linear_bias = projection || mlp;
  model.projection_bias = projection || !mlp;
  model.mlp_bias = mlp || !projection;
}

void read_attention_biases(const Node& node, std::string_view key, bool usual, Transformer& model) {
  model.qkv_bias = node.boolean_or(key, usual);
  set_linear_biases(model.qkv_bias, false, model);
}

void read_llama_biases(const Node& node, bool usual, Transformer& model) {
  model.qkv_bias = node.boolean_or("attention_bias", usual);
  set_linear_biases(model.qkv_bias, node.boolean_or("mlp_bias", usual), model);
}

void read_optional_biases(const Node& node, Transformer& model) {
  model.qkv_bias = node.boolean_or("attention_bias", false);
  model.linear_bias = node.boolean_or("mlp_bias", false);
  if (model.qkv_bias != model.linear_bias)
    node.complain("mlp_bias", "expected the same as attention_bias: biases in one of them only are not supported");
}

void read_llama(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  read_optional_biases(node, model);
}

double read_popularity_shape(const Node& node) {
  constexpr const char* kKey = "expert_popularity_shape";
  constexpr double kLeast = 0.1;
  const double shape = node.number_or(kKey, 0, {.low = 0, .high = 1e6});
  if (shape > 0 && shape < kLeast)
    node.complain(kKey, fmt::format("expected 0 (all experts are equally popular) or a number from {} on, found {}",
                                    kLeast, shape));
  return shape;
}

model::Experts read_expert_counts(const Node& node, std::string_view count, std::string_view per_token) {
  constexpr WholeRange kExperts{.low = 1, .high = 1 << 20};
  const std::size_t wrong = node.findings().complaints.size();
  model::Experts experts{.count = node.whole(count, kExperts), .per_token = node.whole(per_token, kExperts)};
  if (node.findings().complaints.size() == wrong && experts.per_token > experts.count)
    node.complain(per_token, fmt::format("expected at most {}, the experts of a layer, found {}", experts.count,
                                         experts.per_token));
  experts.popularity_shape = read_popularity_shape(node);
  return experts;
}

std::int64_t read_first_dense(const Node& node, std::int64_t layers, std::int64_t fallback, std::string_view key) {
  const std::int64_t dense = node.whole_or(key, fallback, {.low = 0, .high = kLayers.high});
  if (dense > 0 && dense >= layers)
    node.complain(
        key, fmt::format("expected fewer than the {} layers of the model, found {}: none has experts", layers, dense));
  return dense;
}

void read_granite(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.scaled_embedding = node.number_or("embedding_multiplier", 1) != 1;
  for (const char* key : {"residual_multiplier", "logits_scaling", "attention_multiplier"})
    (void)node.number_or(key, 1);
}

std::vector<std::string_view> with_llama_keys(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> keys(std::begin(kLlamaKeys), std::end(kLlamaKeys));
  keys.insert(keys.end(), more);
  return keys;
}

std::vector<std::string_view> granite_keys() {
  return with_llama_keys({"embedding_multiplier", "residual_multiplier", "logits_scaling", "attention_multiplier"});
}

void read_local_layers(const Node& node, std::int64_t every, Transformer& model) {
  model.attention_window = 0;
  model.local = {.window = node.whole("sliding_window", {.low = 1}), .every = every};
  const auto types = node.find_array("layer_types");
  if (!types) return;
  std::int64_t layer = 0;
  for (const Node& type : *types) {
    const bool local = type.as_text() == "sliding_attention";
    if (local == (model.local.window_of(layer++) > 0)) continue;
    type.complain(every == 2
                      ? "expected sliding and full attention in turn, sliding first"
                      : fmt::format("expected full attention in every layer {} and sliding in the others", every));
    return;
  }
}

void read_gpt2_parts(const Node& node, std::string_view usual, Transformer& model) {
  read_sizes(node, {"n_layer", "n_embd", "n_head", "vocab_size"}, model);
  model.ffn_hidden = node.whole_or("n_inner", 4 * model.hidden, kWidth);
  model.max_positions = node.whole("n_positions", kPositionsRange);
  read_plain_activation(node, "activation_function", usual, model);
  model.hidden_dropout = node.number_or("resid_pdrop", 0.1, kFraction);
  (void)node.number_or("embd_pdrop", 0.1, kFraction);
  model.attention_dropout = node.number_or("attn_pdrop", 0.1, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

}  // namespace foretoken::io
