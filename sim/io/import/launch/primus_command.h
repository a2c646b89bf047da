// Reads commands of primus-cli, which name an experiment of Primus and change its keys by flags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Returns true for `primus-cli direct -- train pretrain --config FILE`.
[[nodiscard]] bool is_primus_command(const std::vector<std::string>& words);

/// Returns the flags behind words[begin] as overrides of the experiment: --num_layers 24 is
/// "modules.pre_trainer.overrides.num_layers=24".
[[nodiscard]] std::vector<std::string> overrides_of_primus(const std::vector<std::string>& words, std::size_t begin);

/// Returns the product of GPUS_PER_NODE and NNODES, where the script sets both.
[[nodiscard]] std::optional<std::int64_t> gpus_of_primus(const shell::Script& script);

/// Returns the module of an experiment of Primus that trains: pre_trainer, post_trainer or another with a framework.
/// Nothing for other documents.
[[nodiscard]] std::optional<Json> trainer_of_primus(const Json& document);

/// Returns the framework of that module; empty for other documents.
[[nodiscard]] std::string framework_of_primus(const Json& document);

}  // namespace foretoken::io::launch
