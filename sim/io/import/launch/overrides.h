// Values of a command line that replace those of a configuration file: `-- model.n_layers=32`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/io/json/node.h"

namespace foretoken::io::launch {

/// Replaces or adds the values that `words` state: KEY.KEY=VALUE as OmegaConf (llm-foundry, torchtune), `+KEY=VALUE`
/// and
/// `++KEY=VALUE` as Hydra (NeMo), `--KEY.KEY VALUE` and `--KEY.KEY=VALUE` as torchtitan and axolotl write them. A value
/// is YAML. Complains about other words, and where a key leads through a value.
void apply_overrides(const std::vector<std::string>& words, nlohmann::ordered_json& document, Findings& findings);

}  // namespace foretoken::io::launch
