// Makes a scenario of an llm-foundry (Composer) configuration.
#pragma once

#include <optional>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::llm_foundry {

[[nodiscard]] bool is_llm_foundry(const Json& document);
void read_llm_foundry(const Json& document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::llm_foundry
