// Reads around text_config.
//
// Names and defaults: transformers, src/transformers/models/{gemma3,qwen2_vl,qwen2_5_vl,qwen3_vl,qwen3_vl_moe,
// ministral3}/configuration_*.py.
#include "sim/io/model/text_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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
using NameAndFamily = std::pair<std::string_view, std::string_view>;
constexpr NameAndFamily kFamilyOfText[] = {{"qwen2_vl_text", "qwen2"},
                                           {"qwen2_5_vl_text", "qwen2"},
                                           {"qwen3_vl_text", "qwen3"},
                                           {"qwen3_vl_moe_text", "qwen3_moe"}};

/// Multimodal types whose config may state the sizes of its text model beside its other sections, and the family of
/// that text: text_config of moonshotai/Kimi-K2.5, config.json; Qwen/Qwen2-VL-7B-Instruct and
/// Qwen/Qwen2.5-VL-7B-Instruct, config.json.
constexpr NameAndFamily kFamilyOfFlat[] = {{"kimi_k25", "kimi_k2"}, {"qwen2_vl", "qwen2"}, {"qwen2_5_vl", "qwen2"}};

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

std::optional<nlohmann::json> flat_text_model_of(const Node& node) {
  const nlohmann::json& type = node.child(kType).value();
  const std::string stated = type.is_string() ? type.get<std::string>() : "";
  const auto* const found = std::ranges::find(kFamilyOfFlat, std::string_view(stated), &NameAndFamily::first);
  const bool whole = node.has("vision_config") && node.has("hidden_size");
  if (found == std::end(kFamilyOfFlat) || !whole) return std::nullopt;
  nlohmann::json text = nlohmann::json::object();
  for (const auto& [key, value] : node.value().items())
    if (!key.ends_with("_config") || key == "quantization_config" || !value.is_object()) text[key] = value;
  text[kType] = found->second;
  note_what_is_left_out(node);
  return text;
}

}  // namespace foretoken::io
