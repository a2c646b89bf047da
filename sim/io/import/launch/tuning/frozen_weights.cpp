// Names: huggingface/transformers, BitsAndBytesConfig; hiyouga/LLaMA-Factory, src/llamafactory/extras/constants.py,
// QuantizationMethod, which has HQQ and EETQ beside bitsandbytes; src/llamafactory/model/model_utils/quantization.py:
// bitsandbytes has 4 and 8 bits, HQQ 1 to 8. modelscope/ms-swift 2, swift/llm/argument: quantization_bit 0 is none.
#include "sim/io/import/launch/tuning/frozen_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "sim/base/text.h"
#include "sim/io/import/launch/names/stored_weights.h"

namespace foretoken::io::launch::tuning {

namespace {

/// Words that stand before what a switch turns on: use_qlora, load_in_4bit.
constexpr std::string_view kVerbs[] = {"use",  "load", "in", "train", "enable", "enabled",
                                       "with", "is",   "do", "run",   "model",  "base"};

// Returns true where the name ends in the words, and only verbs stand before them.
bool ends_in(std::string_view key, std::initializer_list<std::string_view> last) {
  const auto words = words_of_name(key.substr(key.rfind('.') + 1));
  if (words.size() < last.size()) return false;
  const std::span before(words.data(), words.size() - last.size());
  return std::equal(last.begin(), last.end(), words.end() - static_cast<std::ptrdiff_t>(last.size())) &&
         std::ranges::all_of(before, [](const std::string& word) {
           return std::ranges::find(kVerbs, std::string_view(word)) != std::end(kVerbs);
         });
}

bool names_qlora(std::string_view key) { return ends_in(key, {"qlora"}) || ends_in(key, {"q", "lora"}); }

bool any_on(const Settings& settings, int bits) {
  const auto leaves = settings.leaves();
  return std::ranges::any_of(leaves, [&](const auto& leaf) {
    return switches_to_bits(leaf.first, bits) && settings.on({std::string_view(leaf.first)});
  });
}

}  // namespace

bool switches_to_bits(std::string_view key, int bits) {
  const std::string number = fmt::format("{}", bits), one = number + "bit";
  return ends_in(key, {one}) || ends_in(key, {number, "bit"}) || (bits == 4 && names_qlora(key));
}

std::string narrow_key(const Settings& settings) {
  for (const auto& [key, value] : settings.leaves())
    if (names_qlora(key) && settings.on({std::string_view(key)})) return key;
  return "";
}

FrozenWeights frozen_weights_of(const Settings& settings, std::span<const std::string_view> model_keys) {
  const std::int64_t stated = settings.whole({"quantization_bit", "load_in_bits", "bits"}).value_or(0);
  const std::int64_t bits = stated == 0 ? 16 : stated;
  const bool four = settings.on({"use_4bit_quantization"}) || any_on(settings, 4) || bits == 4;
  const bool eight = settings.on({"use_8bit_quantization"}) || any_on(settings, 8) || bits == 8;
  for (const char* key : {"quantization_method", "q_lora_4bit_compute_dtype", "double_quantization", "double_quant",
                          "use_nested_quant", "quant_type", "lora_alpha", "lora_dropout"})
    (void)settings.at(key);
  const auto stored = [&](bool (*holds)(std::string_view)) {
    return std::ranges::any_of(model_keys,
                               [&](std::string_view key) { return holds(settings.text({key}).value_or("")); });
  };
  const std::string method = lower_case(settings.text({"quantization_method"}).value_or("bitsandbytes"));
  const bool known = bits == 16 || ((bits == 4 || bits == 8) && (method == "bnb" || method == "bitsandbytes"));
  if (!known) return {.bits = 16, .other_format = fmt::format("{} of {} bits", printable(method, 20), bits)};
  if (four || stored(holds_four_bits)) return {.bits = 4};
  return {.bits = eight || stored(holds_eight_bits) ? 8 : 16, .other_format = stored(holds_fp8) ? "fp8" : ""};
}

}  // namespace foretoken::io::launch::tuning
