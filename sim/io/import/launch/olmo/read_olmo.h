// Reads configurations of OLMo's trainer (allenai/OLMo).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::olmo {

/// Returns true for its configurations, also for those of 2023, which Composer ran. llm-foundry's have the same batch
/// and a model with a name.
[[nodiscard]] bool is_olmo(const Json& document);

/// Reads the document. The number of GPUs, which the file does not hold, comes from the command line.
void read_olmo(const Json& document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::olmo
