// Tells by its name whether a flag that Megatron-LM does not have can change a training step.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::io::launch::megatron {

/// Returns why a flag of a fork is taken as free: its name is about files, names, logs, losses, or counts of data and
/// steps. Empty where its name does not say so.
[[nodiscard]] std::string why_free_by_name(std::string_view flag);

}  // namespace foretoken::io::launch::megatron
