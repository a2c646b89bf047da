// Reads the errors on published measurements: validate/residuals.json.
#pragma once

#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"
#include "sim/trust/evidence.h"

namespace foretoken::io {

inline constexpr DataKind kResiduals{"residuals", "validate"};

/// Reads the evidence behind intervals, written by `foretoken validate --write-docs`.
[[nodiscard]] trust::Evidence read_residuals(const Node& node);

/// Reads the file in the first data folder that has it. Throws ConfigError.
[[nodiscard]] trust::Evidence read_shipped_residuals();

}  // namespace foretoken::io
