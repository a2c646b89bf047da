// Reads ms-swift's command line as arguments of Hugging Face's Trainer.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Returns true for "swift sft ..." and the modules and files that it starts.
[[nodiscard]] bool is_swift(const shell::Command& command);

/// Renames ms-swift's arguments in `document`, and adds the defaults that differ from the Trainer's. Refuses what is no
/// plain training.
void become_trainer(const shell::Command& command, std::optional<std::int64_t> gpus, Json& document, Report& report);

}  // namespace foretoken::io::launch::tuning
