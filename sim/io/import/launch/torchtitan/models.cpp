// The model flavors of torchtitan.
//
// Sizes: pytorch/torchtitan, torchtitan/models/{llama3,qwen3}/__init__.py; of Qwen3 as in the config.json of
// Qwen/Qwen3-*.
#include "sim/io/import/launch/torchtitan/models.h"

#include <algorithm>
#include <cctype>

namespace foretoken::io::launch::torchtitan {
namespace {

struct Shipped {
  std::string_view flavor, file;
  std::int64_t layers;
};
constexpr Shipped kShipped[] = {{"llama3/8b", "llama-3-8b", 32},      {"llama3/70b", "llama-3-70b", 80},
                                {"llama3/405b", "llama-3-405b", 126}, {"llama2/7b", "llama-2-7b", 32},
                                {"llama2/13b", "llama-2-13b", 40},    {"llama2/70b", "llama-2-70b", 80},
                                {"qwen3/32b", "qwen3-32b", 64}};

struct Qwen3 {
  std::string_view flavor;
  std::int64_t layers, hidden, heads, groups, width;
  bool tied;
};
constexpr Qwen3 kQwen3[] = {{"qwen3/0.6b", 28, 1024, 16, 8, 3072, true},
                            {"qwen3/1.7b", 28, 2048, 16, 8, 6144, true},
                            {"qwen3/4b", 36, 2560, 32, 8, 9728, true},
                            {"qwen3/8b", 36, 4096, 32, 8, 12288, false},
                            {"qwen3/14b", 40, 5120, 40, 8, 17408, false}};

Json config_of(const Qwen3& model) {
  constexpr std::int64_t kHeadDim = 128, kVocabulary = 151936;
  return {{"name", std::string(model.flavor)},
          {"model_type", "qwen3"},
          {"num_hidden_layers", model.layers},
          {"hidden_size", model.hidden},
          {"num_attention_heads", model.heads},
          {"num_key_value_heads", model.groups},
          {"head_dim", kHeadDim},
          {"intermediate_size", model.width},
          {"vocab_size", kVocabulary},
          {"tie_word_embeddings", model.tied}};
}

}  // namespace

std::optional<Flavor> flavor_of(const std::string& name, const std::string& flavor) {
  std::string whole = name + "/" + flavor;
  std::ranges::transform(whole, whole.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Shipped& model : kShipped)
    if (model.flavor == whole) return Flavor{std::string(model.file), model.layers};
  for (const Qwen3& model : kQwen3)
    if (model.flavor == whole) return Flavor{config_of(model), model.layers};
  return std::nullopt;
}

}  // namespace foretoken::io::launch::torchtitan
