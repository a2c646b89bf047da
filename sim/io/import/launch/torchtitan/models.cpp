// The model flavors of torchtitan.
//
// Flavors: pytorch/torchtitan, torchtitan/models/{llama3,llama4,qwen3,deepseek_v3,gpt_oss}/__init__.py.
#include "sim/io/import/launch/torchtitan/models.h"

#include <algorithm>

#include "sim/base/text.h"

namespace foretoken::io::launch::torchtitan {

std::optional<NamedModel> flavor_of(const std::string& name, const std::string& flavor) {
  // A fork adds Kimi K2 to them: NousResearch/torchtitan, torchtitan/models/deepseek_v3/__init__.py.
  if (name == "deepseek_v3" && flavor == "671B") return model_of_name(name);
  if (name == "deepseek_v3" && flavor == "kimi_k2") return model_of_name(flavor);
  const bool known = name.starts_with("llama") || name.starts_with("qwen3") || name == "gpt_oss";
  return known && !flavor.empty() ? model_of_name(name + "-" + flavor) : std::nullopt;
}

bool has_experts(const std::string& name, const std::string& flavor) {
  for (const char* kind : {"llama4", "deepseek", "gpt_oss"})
    if (name.starts_with(kind)) return true;
  return std::ranges::any_of(words_of_name(lower_case(flavor)), [](const std::string& word) {
    return word == "moe" || (word.size() > 2 && word.front() == 'a' && word.back() == 'b' &&
                             word.find_first_not_of("0123456789", 1) == word.size() - 1);
  });
}

}  // namespace foretoken::io::launch::torchtitan
