// Names: huggingface/transformers, BitsAndBytesConfig; hiyouga/LLaMA-Factory, src/llamafactory/extras/constants.py,
// QuantizationMethod, which has HQQ and EETQ beside bitsandbytes; src/llamafactory/model/model_utils/quantization.py:
// bitsandbytes has 4 and 8 bits, HQQ 1 to 8. modelscope/ms-swift 2, swift/llm/argument: quantization_bit 0 is none.
#include "sim/io/import/launch/tuning/frozen_weights.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/names/stored_weights.h"

namespace foretoken::io::launch::tuning {

std::string narrow_key(const Settings& settings) {
  const std::string key = settings.from({"use_qlora", "qlora", "q_lora", "use_q_lora"});
  return !key.empty() && settings.on({key}) ? key : "";
}

FrozenWeights frozen_weights_of(const Settings& settings, std::span<const std::string_view> model_keys) {
  const std::int64_t stated = settings.whole({"quantization_bit", "load_in_bits", "bits"}).value_or(0);
  const std::int64_t bits = stated == 0 ? 16 : stated;
  const bool four = settings.on({"load_in_4bit", "use_4bit_quantization"}) || bits == 4;
  const bool eight = settings.on({"load_in_8bit", "use_8bit_quantization"}) || bits == 8;
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
  if (four || !narrow_key(settings).empty() || stored(holds_four_bits)) return {.bits = 4};
  return {.bits = eight || stored(holds_eight_bits) ? 8 : 16, .other_format = stored(holds_fp8) ? "fp8" : ""};
}

}  // namespace foretoken::io::launch::tuning
