// Finds families by the class that a config names, or by keys that one family alone writes.
//
// transformers, src/transformers/configuration_utils.py: a config has its class's model_type. Files of 2019 and files
// that other programs write lack it. Classes are called LlamaForCausalLM, GPT2LMHeadModel or BertModel
// (models/auto/modeling_auto.py).
#include "sim/io/model/model_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/model/model_families.h"

namespace foretoken::io {
namespace {

constexpr const char *kTypeKey = "model_type", *kClasses = "architectures";

/// Types whose name is longer than their class's: Gemma3ForCausalLM is the text model alone.
constexpr std::pair<std::string_view, std::string_view> kLongerTypes[] = {{"gemma3", "gemma3_text"},
                                                                          {"llama4", "llama4_text"}};

// "gpt_bigcode" is called GPTBigCode in classes.
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const std::string& word : words_of_name(name)) letters += word;
  return letters;
}

// LlamaForCausalLM begins with Llama.
std::string_view stem_of_class(std::string_view name) {
  for (std::size_t at = name.find("For", 1); at != name.npos; at = name.find("For", at + 1))
    if (at + 3 < name.size() && std::isupper(static_cast<unsigned char>(name[at + 3])) != 0) return name.substr(0, at);
  for (const std::string_view end : {"LMHeadModel", "Model"})
    if (name.size() > end.size() && name.ends_with(end)) return name.substr(0, name.size() - end.size());
  return {};
}

std::string_view type_of_class(std::string_view name) {
  const std::string stem = letters_of(stem_of_class(name));
  for (const auto& [shorter, type] : kLongerTypes)
    if (stem == shorter) return type;
  for (const ModelFamily& family : model_families())  // gpt and megatron are words of this program
    if (letters_of(family.type) == stem && stem != "gpt" && stem != "megatron") return family.type;
  return {};
}

bool has_all(const Node& node, std::initializer_list<const char*> keys) {
  return std::ranges::all_of(keys, [&](const char* key) { return node.value().contains(key); });
}

bool has_any(const Node& node, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) { return node.value().contains(key); });
}

// configuration_llama.py writes these keys together. Families that were made of llama add keys, which are refused as
// unknown.
bool has_keys_of_llama(const Node& node) {
  return node.child("hidden_act").value() == "silu" &&
         has_all(node, {"attention_bias", "mlp_bias", "pretraining_tp", "rms_norm_eps", "num_key_value_heads",
                        "rope_theta", "hidden_size", "intermediate_size", "num_attention_heads", "rope_scaling",
                        "vocab_size", "num_hidden_layers"});
}

// pytorch-transformers of 2019 writes these. OpenAI's first GPT adds afn, CTRL dff, and GPT-J and CodeGen rotary_dim.
bool has_keys_of_gpt2(const Node& node) {
  return has_all(node, {"n_layer", "n_embd", "n_head", "n_ctx", "n_positions", "vocab_size"}) &&
         !has_any(node, {"afn", "dff", "rotary", "rotary_dim"});
}

// google-research/bert, modeling.py (BertConfig). RoBERTa has one type of tokens and two more positions, which no token
// uses (configuration_roberta.py). ALBERT and ELECTRA add keys, which are refused as unknown.
std::string_view type_by_keys_of_bert(const Node& node) {
  const bool bert = has_all(
      node, {"attention_probs_dropout_prob", "hidden_dropout_prob", "hidden_size", "intermediate_size",
             "max_position_embeddings", "num_attention_heads", "num_hidden_layers", "type_vocab_size", "vocab_size"});
  if (!bert) return {};
  const bool more = node.child("max_position_embeddings").value() == 514;
  return more && node.child("type_vocab_size").value() == 1 ? "roberta" : "bert";
}

std::string_view type_by_keys(const Node& node) {
  if (has_keys_of_llama(node)) return "llama";
  if (has_keys_of_gpt2(node)) return "gpt2";
  return type_by_keys_of_bert(node);
}

std::string_view type_by_classes(const Node& node) {
  const nlohmann::json& classes = node.child(kClasses).value();
  const bool named = classes.is_array() && !classes.empty() && classes.front().is_string();
  return named ? type_of_class(classes.front().get_ref<const std::string&>()) : std::string_view();
}

}  // namespace

std::optional<nlohmann::json> with_model_type(const Node& node) {
  if (!node.value().is_object() || node.has(kTypeKey)) return std::nullopt;
  const bool classless = !node.has(kClasses);
  const std::string_view type = classless ? type_by_keys(node) : type_by_classes(node);
  if (type.empty()) return std::nullopt;
  node.findings().notes.assumptions.push_back(
      fmt::format("model_type is {}, {}", in_quotes(type),
                  classless ? "because the config has the keys of that family alone" : "as architectures says"));
  nlohmann::json typed = node.value();
  typed[kTypeKey] = type;
  return typed;
}

}  // namespace foretoken::io
