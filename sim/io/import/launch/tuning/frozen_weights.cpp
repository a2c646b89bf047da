// Names: huggingface/transformers, BitsAndBytesConfig; hiyouga/LLaMA-Factory, src/llamafactory/extras/constants.py,
// QuantizationMethod, which has HQQ and EETQ beside bitsandbytes.
#include "sim/io/import/launch/tuning/frozen_weights.h"

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::tuning {

std::string narrow_key(const Settings& settings) {
  const std::string key = settings.from({"use_qlora", "qlora", "q_lora", "use_q_lora"});
  return !key.empty() && settings.on({key}) ? key : "";
}

FrozenWeights frozen_weights_of(const Settings& settings, std::span<const std::string_view> model_keys) {
  const auto bits = settings.whole({"quantization_bit", "load_in_bits", "bits"});
  const bool four = settings.on({"load_in_4bit", "use_4bit_quantization"}) || bits.value_or(16) == 4;
  const bool eight = settings.on({"load_in_8bit", "use_8bit_quantization"}) || bits.value_or(16) == 8;
  for (const char* key : {"quantization_method", "q_lora_4bit_compute_dtype", "double_quantization", "double_quant",
                          "use_nested_quant", "quant_type", "lora_alpha", "lora_dropout"})
    (void)settings.at(key);
  const auto stored = [&](bool (*holds)(std::string_view)) {
    return std::ranges::any_of(model_keys,
                               [&](std::string_view key) { return holds(settings.text({key}).value_or("")); });
  };
  if (four || !narrow_key(settings).empty() || stored(holds_four_bits)) return {.bits = 4};
  const std::string method = lower_case(settings.text({"quantization_method"}).value_or("bitsandbytes"));
  if (eight && method != "bnb" && method != "bitsandbytes")
    return {.bits = 8, .other_format = printable(method, 20) + " of 8 bits"};
  return {.bits = eight ? 8 : 16, .other_format = stored(holds_eight_bits) ? "fp8" : ""};
}

}  // namespace foretoken::io::launch::tuning
