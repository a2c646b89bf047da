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

/// The flag of the other order of ranks, tp-cp-ep-pp-dp (Megatron-Core, parallel_state.py), and what is taken beside
/// it.
inline constexpr const char *kRankOrderFlag = "use-tp-pp-dp-mapping",
                            *kRankOrder =
                                "it puts the stages of a replica on neighbouring ranks; here data ranks are "
                                "the neighbours, as by default";

/// The answer states this of keep_fp8_transpose_cache: NVIDIA/Megatron-LM,
/// megatron/core/distributed/fsdp/src/README.md.
inline constexpr const char* kKeptTransposes =
    "Megatron-FSDP keeps transposed weights in fp8, one byte a parameter, which are not counted";

/// The answer states this of sinks, a term of the softmax that stands for no token.
inline constexpr const char* kWithoutSinks = "kernels of attention take as long without sinks";

/// The answer states this where Megatron-Core keeps the input of the activation function in fp8 for the backward pass
/// (TransformerConfig, activation_func_fp8_input_store).
inline constexpr const char* kNarrowInput =
    "inputs of the activation function are kept in 16 bits, which takes more memory";

}  // namespace foretoken::io::launch::megatron
