// Reads the format of a model's stored weights from its config.json.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Reads quantization_config of `config`, which stands in `place`: adapters beside weights of 4 bits are QLoRA, other
/// formats and a training of the weights themselves are refused by name. Only programs that load the model with
/// transformers are told by it.
void settle_stored_weights(const Json& config, const std::string& place, Report& report);

/// Does the same for the model that the scenario names or holds: the user's config.json.
void settle_weights_of_scenario(Report& report);

}  // namespace foretoken::io::launch
