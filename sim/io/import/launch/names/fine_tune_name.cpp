// Finds the family and the size at the beginning of a name.
#include "sim/io/import/launch/names/fine_tune_name.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

// Words of models that have other layers, another vocabulary, other weights or another purpose than their base.
constexpr std::string_view kOther =
    " 2bit 3bit 4bit 8bit a3b a22b aqlm audio awq bitnet classifier depth draft eagle embed embedding embeddings eetq "
    "exl2 expanded extended gguf gptq hqq image int4 int8 linear mamba medusa minitron mixture moe mtp multimodal omni "
    "pro prm prune pruned quantized reward reranker rm slim sparse speech tts upscaled v0 vision vl vlm w4a16 w8a8 "
    "width ";

bool has_family(const std::string& head) {
  constexpr std::string_view kFamilies[] = {"llama3", "metallama3", "qwen2", "qwen3", "tinyllama"};
  std::string plain;
  for (const std::string& word : words_of_name(head)) plain += word;
  return std::ranges::any_of(kFamilies, [&](std::string_view family) { return plain.starts_with(family); });
}

bool says_other_shape(const std::string& rest) {
  return std::ranges::any_of(words_of_name(rest), [](const std::string& word) {
    const bool several = word.size() > 1 && word.find('x') != word.npos && std::isdigit(word.front()) != 0;  // 4x8b
    const bool size = word.size() > 1 && word.ends_with('b') && std::isdigit(word.front()) != 0;
    return several || size || kOther.find(" " + word + " ") != kOther.npos;
  });
}

}  // namespace

std::string_view base_in_name(std::string_view name) {
  const auto is = [&](std::size_t at, int (*kind)(int)) {
    return at < name.size() && kind(static_cast<unsigned char>(name[at])) != 0;
  };
  for (std::size_t at = 1; at < name.size(); ++at) {
    const bool size = (name[at] == 'b' || name[at] == 'B') && is(at - 1, std::isdigit) && !is(at + 1, std::isalnum);
    if (!size) continue;
    const std::string_view head = name.substr(0, at + 1), rest = name.substr(at + 1);
    if (rest.empty() || !has_family(std::string(head)) || says_other_shape(std::string(rest))) return "";
    return head;
  }
  return "";
}

}  // namespace foretoken::io::launch
