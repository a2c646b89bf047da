// Reads the errors of predicted services: validate/serving_residuals.json.
#pragma once

#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"
#include "sim/trust/served.h"

namespace foretoken::io {

/// Reads the evidence behind intervals of services, written by `foretoken validate --write-docs`.
[[nodiscard]] trust::ServedEvidence read_served_residuals(const Node& node);

/// Reads the file in the first data folder that has it. Throws ConfigError.
[[nodiscard]] trust::ServedEvidence read_shipped_served_residuals();

}  // namespace foretoken::io
