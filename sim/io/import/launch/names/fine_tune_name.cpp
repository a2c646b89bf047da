// Finds the family and the size at the beginning of a name.
#include "sim/io/import/launch/names/fine_tune_name.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

// Words that tell of other layers, another vocabulary, a narrow format, further parts or another purpose. The sizes of
// the base are not taken beside them. Such words keep being invented: a name without any of them may still mean another
// shape, so an answer always lists the base as an approximation.
constexpr std::string_view kOther =
    " aqlm asr awq eetq exl2 exl3 exit gguf gla gptq half hqq iq2 iq3 iq4 linear lite loop mamba mha mini mixture "
    "mla mlx modal mqa mtp nano ocr pro prm quarter retnet rm s2s slim ssm tiny tts v0 vl vlm ";
constexpr std::string_view kBeginnings[] = {
    "audio",    "binary",  "bit",        "classif", "clip",   "colbert", "depth",  "diffu",  "draft",
    "eagle",    "encoder", "expand",     "expert",  "extend", "hybrid",  "image",  "llava",  "medusa",
    "minitron", "moe",     "multimodal", "omni",    "onebit", "prun",    "quant",  "recur",  "rerank",
    "retriev",  "reward",  "rwkv",       "shrink",  "siglip", "skip",    "sparse", "specul", "speech",
    "ternary",  "token",   "upscal",     "video",   "vision", "vocab",   "voice",  "width"};
constexpr std::string_view kParts[] = {"2vec", "bitnet", "embed", "fp4", "fp6", "fp8", "int4", "int8", "nf4"};

// "a3b" has 3 billion active parameters, "w4a16" weights of 4 bits, and "q4" is a format of llama.cpp.
bool begins_with_count(std::string_view letters, const std::string& word) {
  return word.size() > 1 && letters.find(word.front()) != letters.npos && std::isdigit(word[1]) != 0;
}

// 8layers, layerskip and halflayers, but not roleplayer; 4bit and 1bits.
bool is_other(const std::string& word) {
  const bool counts = word.size() > 1 && std::isdigit(word.front()) != 0;
  return holds_word(kOther, word) ||
         std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return word.starts_with(begin); }) ||
         std::ranges::any_of(kParts, [&](std::string_view part) { return word.find(part) != word.npos; }) ||
         (word.find("layer") != word.npos && word.find("player") == word.npos) ||
         (counts && word.find("bit") != word.npos) || word.ends_with("moe") || word.ends_with("vl") ||
         (begins_with_count("a", word) && word.ends_with('b')) || begins_with_count("qw", word);
}

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
    return several || size || is_other(word);
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
