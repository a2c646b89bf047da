// Reads ms-swift's command line as arguments of Hugging Face's Trainer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Returns true for "swift sft ..." and the modules and files that it starts.
[[nodiscard]] bool is_swift(const shell::Command& command);

/// An argument of the Trainer or of LLaMA-Factory, and its name in ms-swift.
struct OwnName {
  std::string name, own;  ///< "finetuning_type", "train_type"
};

/// Renames ms-swift's arguments in `document`, and adds the defaults that differ from the Trainer's. Refuses what is no
/// plain training. Returns the names that have changed.
std::vector<OwnName> become_trainer(const shell::Command& command, std::optional<std::int64_t> gpus, Json& document,
                                    Report& report);

/// Puts ms-swift's names into the lines of the report.
void cite_own_names(const std::vector<OwnName>& names, Report& report);

}  // namespace foretoken::io::launch::tuning
