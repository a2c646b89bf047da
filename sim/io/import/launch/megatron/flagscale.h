// Reads experiments of FlagScale, which name a file of Megatron-LM's arguments and the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::megatron {

/// Returns true for an experiment: "experiment.task" beside a list of "defaults".
[[nodiscard]] bool is_flagscale_experiment(const Json& document);

/// Reads the training that an experiment names, train/NAME.yaml beside its file. `gpus` are those that the user states.
void read_flagscale_experiment(const Json& document, const std::filesystem::path& path, const Environment& environment,
                               std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::megatron
