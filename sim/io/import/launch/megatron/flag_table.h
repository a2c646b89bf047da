// The flags of Megatron-LM and its forks, by what they do to the time and memory of a training step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken::io::launch::megatron {

enum class Effect : std::uint8_t {
  kRead,     ///< a rule maps it (megatron_model.cpp, megatron_run.cpp, ..)
  kIgnored,  ///< no effect on the time or memory of a plain training step
  kNoted,    ///< a small effect that is not modelled; `because` says what is taken instead
  kRefused   ///< another kind of run or model
};

struct FlagRule {
  Effect effect = Effect::kIgnored;
  std::string because{};
};

/// Returns the rule of a flag, written with - for _ and without leading dashes; nothing for an unknown one.
///
/// Source: NVIDIA/Megatron-LM v2.0 to core 0.15, megatron/training/arguments.py (older: megatron/arguments.py);
/// bigscience-workshop/Megatron-DeepSpeed and microsoft/Megatron-DeepSpeed, megatron/arguments.py; torchrun and Slurm.
[[nodiscard]] std::optional<FlagRule> rule_of(std::string_view flag);

/// Returns true for flags about communication of tensor ranks, which change nothing with one of them.
[[nodiscard]] bool is_of_tensor_ranks(std::string_view flag);

}  // namespace foretoken::io::launch::megatron
