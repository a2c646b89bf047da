// Reads a model: finds its family, and checks its keys and the rules of every transformer.
#include "sim/io/model/read_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/model/model_families.h"
#include "sim/io/model/model_keys.h"
#include "sim/io/model/model_type.h"
#include "sim/io/model/second_names.h"
#include "sim/io/model/text_model.h"
#include "sim/io/model/unmodelled_families.h"

namespace foretoken::io {
namespace {

using model::Transformer;

std::string digits_of(std::string_view name) {
  std::string digits;
  std::ranges::copy_if(name, std::back_inserter(digits), [](char c) { return c >= '0' && c <= '9'; });
  return digits;
}

// A name with other digits is another version of a model, not a slip of the pen.
std::string meant_or_unknown_family(std::string_view type) {
  std::vector<std::string> alike;
  for (const ModelFamily& family : model_families())
    if (digits_of(family.type) == digits_of(type)) alike.emplace_back(family.type);
  const std::string meant = did_you_mean(type, alike);
  return meant.empty() ? ": its layers are not known; docs/user/scenarios.md lists the families that are" : meant;
}

// Each file of Hugging Face that states a size has one of these names for its width.
bool has_width(const Node& node) {
  constexpr const char* kWidths[] = {"hidden_size", "n_embd", "d_model", "dim", "n_embed"};
  return std::ranges::any_of(kWidths, [&](const char* key) { return node.has(key); });
}

std::string missing_type(const Node& node) {
  std::string text = "missing; expected a string that names the family, such as \"llama\"";
  if (!has_width(node) && !node.has("architectures"))
    text +=
        "; this is no configuration of Hugging Face: give its config.json, or the sizes of the model under the names "
        "of a family, such as {\"model_type\": \"gpt2\", \"n_layer\": 12, \"n_embd\": 768, \"n_head\": 12, "
        "\"n_positions\": 1024, \"vocab_size\": 50257}";
  return text;
}

const ModelFamily* find_family(const Node& node) {
  if (!node.has("model_type")) {
    node.complain("model_type", missing_type(node));
    return nullptr;
  }
  const std::string type = node.text("model_type");
  for (const ModelFamily& family : model_families())
    if (family.type == type) return &family;
  if (const auto part = why_not_modelled(type)) {
    node.complain("model_type", fmt::format("{} is not supported: it has {}", in_quotes(type), *part));
    return nullptr;
  }
  if (node.child("model_type").is_text())
    node.complain("model_type", fmt::format("{} is not supported{}", in_quotes(type), meant_or_unknown_family(type)));
  return nullptr;
}

std::string folder_name(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(folder / ".", error).lexically_normal();
  return printable(whole.parent_path().filename().string());
}

std::string name_of(const Node& node, std::string_view fallback) {
  std::string name = node.find_text("name").value_or("");
  if (name.empty()) name = node.find_text("_name_or_path").value_or("");
  // The usual file name says nothing: .../Qwen3-32B/config.json is called Qwen3-32B.
  if (name.empty() && fallback == "config") name = folder_name(node.source().folder);
  if (name.empty()) name = fallback;
  return name.empty() ? "unnamed model" : name;
}

/// Checks rules between the sizes, once each size is right.
void check_heads(const Node& node, Transformer& model) {
  const bool head_dim_stated = model.head_dim != 0;
  if (!head_dim_stated && model.hidden % model.heads != 0)
    node.complain(
        fmt::format("the hidden size {} is not divisible by the {} attention heads", model.hidden, model.heads));
  if (!head_dim_stated) model.head_dim = std::max<std::int64_t>(1, model.hidden / model.heads);
  if (model.heads % model.kv_heads != 0)
    node.complain(
        fmt::format("the {} attention heads are not divisible by the {} key-value heads", model.heads, model.kv_heads));
}

void read_family(const Node& node, const ModelFamily& family, Transformer& model) {
  const std::vector<std::string_view> keys = keys_with_second_names(node, family);
  refuse_what_is_not_modelled(node, keys);
  allow_model_keys(node, keys);
  model.attention_window = attention_window(node);
  family.read(node, model);
}

void read_typed_config(const Node& node, Transformer& model) {
  const ModelFamily* const family = find_family(node);
  if (family == nullptr) return;
  const std::size_t complaints = node.findings().complaints.size();
  model.head_dim = 0;
  const std::optional<nlohmann::json> renamed = with_names_of_family(node, *family);
  read_family(renamed ? Node(*renamed, node.source(), node.findings(), node.pointer()) : node, *family, model);
  if (node.findings().complaints.size() == complaints) check_heads(node, model);
  model.head_dim = std::max<std::int64_t>(1, model.head_dim);
}

void read_config(const Node& node, Transformer& model) {
  const std::optional<nlohmann::json> typed = with_model_type(node);
  read_typed_config(typed ? Node(*typed, node.source(), node.findings(), node.pointer()) : node, model);
}

}  // namespace

Transformer read_model(const Node& node, std::string_view fallback_name) {
  Transformer model;
  model.name = name_of(node, fallback_name);
  model.source = node.find_text("source").value_or("");
  if (!node.has("text_config")) {
    const std::optional<nlohmann::json> flat = flat_text_model_of(node);
    read_config(flat ? Node(*flat, node.source(), node.findings(), node.pointer()) : node, model);
    return model;
  }
  const std::optional<nlohmann::json> text = text_model_of(node);
  if (text) read_config(Node(*text, node.source(), node.findings(), node.child("text_config").pointer()), model);
  return model;
}

}  // namespace foretoken::io
