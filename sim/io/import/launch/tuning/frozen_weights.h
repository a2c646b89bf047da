// The weights that stand frozen beside adapters of the Trainer.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::tuning {

/// Bits of frozen weights, 4 and 8 by bitsandbytes, or a format of another library; empty for none.
struct FrozenWeights {
  int bits = 16;
  std::string other_format{};
};

/// Returns true where the name of a switch says weights of so many bits: load_in_4bit, use_8bit, train_qlora.
[[nodiscard]] bool switches_to_bits(std::string_view key, int bits);

/// Returns the switch of QLoRA that is on; empty for none. q_lora of FastChat and Qwen stands beside use_lora.
[[nodiscard]] std::string narrow_key(const Settings& settings);

/// Returns what the arguments say, and the name of the model under one of `model_keys`.
[[nodiscard]] FrozenWeights frozen_weights_of(const Settings& settings, std::span<const std::string_view> model_keys);

}  // namespace foretoken::io::launch::tuning
