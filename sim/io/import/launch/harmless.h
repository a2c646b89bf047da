// Tells by its name whether an unknown setting can change the time or memory of a training step.
#pragma once

#include <string_view>

namespace foretoken::io::launch {

/// The answer says this of a setting that is taken by its name.
inline constexpr const char* kHarmlessByName = "an unknown key; by its name it changes neither time nor memory";

/// Returns true where a word of the name belongs to logs, files, data, texts, learning rates or checks, and none to
/// the model, the batch, precision, memory, parallelism or the method: exp_name, but not log_batch_size. Words are
/// parted by "_", "-" and ".".
[[nodiscard]] bool is_harmless_name(std::string_view name);

}  // namespace foretoken::io::launch
