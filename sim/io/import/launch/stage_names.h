// Tells what a stage of a training program's own does by the words of its name.
#pragma once

#include <string>

namespace foretoken::io::launch {

/// Returns "pt" or "sft" where a word of the name says so, and none says of preferences, rewards or distillation:
/// "mlperf_pretrain", "sotopia_sft". Other names come back as they are.
[[nodiscard]] std::string plain_stage(const std::string& stage);

}  // namespace foretoken::io::launch
