// Makes a scenario of a recipe of NeMo AutoModel.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nemo {

/// Returns true for a recipe with AutoModel's step_scheduler and a model.
[[nodiscard]] bool is_automodel(const Json& document);

void read_automodel(const Json& document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::nemo
