// Tells settings of masked language models, whose attention sees both sides of a token.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/text.h"

namespace foretoken::io::launch {

inline constexpr const char* kMaskedModel = "masked language model, attention is not causal";

/// Returns true for the share of masked tokens and for the token in their place: mlm_probability, mask-token-id.
/// Names: Hugging Face's DataCollatorForLanguageModeling and its tokenizers.
[[nodiscard]] inline bool masks_tokens(std::string_view name) {
  std::string plain;
  for (const std::string& word : words_of_name(name)) plain += (plain.empty() ? "" : "_") + word;
  constexpr std::string_view kNames[] = {"mlm", "mlm_prob", "mlm_probability", "mask_token", "mask_token_id"};
  return std::ranges::find(kNames, plain) != std::end(kNames);
}

}  // namespace foretoken::io::launch
