// Reads configurations of nanotron.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nanotron {

/// Returns true when the document has nanotron's sections: model.model_config, parallelism and tokens.
[[nodiscard]] bool is_nanotron(const nlohmann::ordered_json& document);

/// Makes a scenario of a configuration. It states every degree, so that GPUs and global batch follow from it.
void read_nanotron(const nlohmann::ordered_json& document, Report& report);

}  // namespace foretoken::io::launch::nanotron
