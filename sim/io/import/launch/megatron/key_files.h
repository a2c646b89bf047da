// Files that state Megatron-LM's arguments as keys: its own YAML arguments, FlagScale, and experiments of Primus.
#pragma once

#include <filesystem>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::megatron {

/// Returns true for YAML arguments of Megatron-LM (--yaml-cfg): language_model, model_parallel and plain arguments.
[[nodiscard]] bool is_yaml_arguments(const Json& document);
/// Returns true for a training of FlagScale: the arguments stand in the sections system, model and data.
[[nodiscard]] bool is_flagscale(const Json& document);
/// Reads a file of one of these two kinds.
void read_yaml_arguments(const Json& document, Report& report);

/// Returns true for an experiment of Primus with Megatron-LM.
[[nodiscard]] bool is_primus_megatron(const Json& document);
/// Reads the experiment on top of the files that it names, which are looked for in primus/configs above `path`.
/// `environment` has variables that these files read.
void read_primus_megatron(const Json& document, const std::filesystem::path& path, const Environment& environment,
                          Report& report);

}  // namespace foretoken::io::launch::megatron
