// Tells by its name whether an unknown setting can change the time or memory of a training step.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::io::launch {

/// The answer says this of a setting that is taken by its name.
inline constexpr const char* kHarmlessByName = "an unknown key; by its name it changes neither time nor memory";

/// Returns true where a word of the name belongs to logs, files, data, texts, learning rates or checks, and none to
/// the model, the batch, precision, memory, parallelism or the method: exp_name, but not log_batch_size. Words are
/// parted by "_", "-" and ".".
[[nodiscard]] bool is_harmless_name(std::string_view name);

/// Returns the first word of a harmless name that says so: "loss" for weighted_loss. Empty where its form alone does.
[[nodiscard]] std::string harmless_word(std::string_view name);

/// Returns true where a word of the name belongs to offloading, to axes of parallelism or to formats of 4, 6 and 8
/// bits, whatever stands beside it: eval_fp8, wandb_offload.
[[nodiscard]] bool is_never_harmless(std::string_view name);

/// The answer says this of a setting without a number whose name says nothing of time or memory.
inline constexpr const char* kNothingCostly =
    "an unknown key without a number; no word of its name is about time or memory, so it is left out";

/// Returns true where a word of the name belongs to the model, the batch, precision, memory, parallelism or the method.
[[nodiscard]] bool names_something_costly(std::string_view name);

}  // namespace foretoken::io::launch
