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
std::string meant_or_known_family(std::string_view type) {
  std::vector<std::string> types, alike;
  for (const ModelFamily& family : model_families()) {
    types.emplace_back(family.type);
    if (digits_of(family.type) == digits_of(type)) alike.emplace_back(family.type);
  }
  const std::string meant = did_you_mean(type, alike);
  return meant.empty() ? "; there are " + first_names(types, "docs/user/scenarios.md") : meant;
}

const ModelFamily* find_family(const Node& node) {
  const std::string type = node.text("model_type");
  for (const ModelFamily& family : model_families())
    if (family.type == type) return &family;
  if (const auto part = why_not_modelled(type)) {
    node.complain("model_type", fmt::format("{} is not supported: it has {}", in_quotes(type), *part));
    return nullptr;
  }
  if (node.child("model_type").is_text())
    node.complain("model_type", fmt::format("{} is not supported{}", in_quotes(type), meant_or_known_family(type)));
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

void read_typed_config(const Node& node, Transformer& model) {
  const ModelFamily* const family = find_family(node);
  if (family == nullptr) return;
  const std::vector<std::string_view> keys = keys_with_second_names(node, *family);
  refuse_what_is_not_modelled(node, keys);
  const std::size_t complaints = node.findings().complaints.size();
  allow_model_keys(node, keys);
  model.head_dim = 0;
  model.attention_window = attention_window(node);
  family->read(node, model);
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
