// Reads around text_config.
//
// Names and defaults: transformers, src/transformers/models/{gemma3,qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_vl_moe,
// ministral3}/configuration_*.py.
#include "sim/io/model/text_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

constexpr const char *kText = "text_config", *kTied = "tie_word_embeddings", *kType = "model_type";

/// Text models whose layers are those of a family of text. Image features come in from outside: modeling_qwen3_vl.py
/// adds them to the states between layers.
constexpr std::pair<std::string_view, std::string_view> kFamilyOfText[] = {{"qwen2_vl_text", "qwen2"},
                                                                           {"qwen2_5_vl_text", "qwen2"},
                                                                           {"qwen3_vl_text", "qwen3"},
                                                                           {"qwen3_vl_moe_text", "qwen3_moe"}};

// Gemma3TextConfig. The configs of gemma-3-4b-it and its sisters state what differs from it.
void add_sizes_of_gemma3(nlohmann::json& text) {
  const nlohmann::json usual = {
      {"vocab_size", 262'208}, {"num_attention_heads", 8}, {"num_key_value_heads", 4}, {"head_dim", 256}};
  for (const auto& [key, value] : usual.items())
    if (!text.contains(key)) text[key] = value;
}

// A text_config may leave tied embeddings to the whole config.
void add_tied(const Node& node, nlohmann::json& text) {
  if (!node.has(kTied)) return;
  const nlohmann::json& whole = node.child(kTied).value();
  if (text.contains(kTied) && !text[kTied].is_null() && text[kTied] != whole)
    node.complain(kTied, fmt::format("expected {} as text_config says, found {}", text[kTied].dump(), whole.dump()));
  text[kTied] = whole;
}

void note_what_is_left_out(const Node& node) {
  std::vector<std::string> parts;
  for (const std::string& key : node.keys())
    if (key != kText && key.ends_with("_config") && key != "quantization_config" && node.child(key).value().is_object())
      parts.push_back(printable(key, 40));
  node.findings().notes.assumptions.push_back(
      fmt::format("only the text model of the multimodal {} counts{}", in_quotes(node.text_or(kType, "model")),
                  parts.empty() ? "" : fmt::format("; {} left out", fmt::join(parts, ", "))));
}

}  // namespace

std::optional<nlohmann::json> text_model_of(const Node& node) {
  if (!node.child(kText).value().is_object()) {
    node.child(kText).expected("an object");
    return std::nullopt;
  }
  nlohmann::json text = node.child(kText).value();
  add_tied(node, text);
  const std::string type = text.value(kType, nlohmann::json()).is_string() ? text[kType].get<std::string>() : "";
  if (type == "gemma3_text") add_sizes_of_gemma3(text);
  for (const auto& [inside, family] : kFamilyOfText)
    if (type == inside) text[kType] = family;
  note_what_is_left_out(node);
  return text;
}

}  // namespace foretoken::io
