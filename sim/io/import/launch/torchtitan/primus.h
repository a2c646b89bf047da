// Unwraps the YAML files in which Primus (AMD) states runs of torchtitan.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::torchtitan {

/// Returns true for an experiment of Primus with torchtitan: modules.pre_trainer.framework.
[[nodiscard]] bool is_primus(const nlohmann::ordered_json& document);

/// Returns torchtitan's sections: those of the module and model files that the experiment names, with its overrides on
/// top. The files are looked for in primus/configs/{modules,models}/torchtitan above `path`, and read variables of
/// `environment`. A missing model is refused. Asks for switches that the experiment leaves to the module file.
[[nodiscard]] nlohmann::ordered_json unwrapped(const nlohmann::ordered_json& document,
                                               const std::filesystem::path& path, const Environment& environment,
                                               Report& report);

}  // namespace foretoken::io::launch::torchtitan
