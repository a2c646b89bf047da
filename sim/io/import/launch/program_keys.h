// Trainings whose configuration no word of a command names: Primus's variable EXP, and programs of NeMo and
// Megatron-Bridge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/named_file.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Returns the YAML file that the variable EXP names. Primus's launchers take their experiment from it: AMD-AGI/Primus,
/// examples/run_pretrain.sh. Empty without one.
[[nodiscard]] std::string experiment_of(const shell::Script& script);

/// Returns the experiment of Primus, with the GPUs of GPUS_PER_NODE and NNODES. Nothing where it is not there.
[[nodiscard]] std::optional<NamedFile> file_of_variable(const shell::Script& script, const std::string& folder);

/// Returns the KEY=VALUE words behind programs of NeMo and recipes of Megatron-Bridge, as overrides of an empty
/// configuration. The programs have one of their own that no word names: model.num_layers=12.
[[nodiscard]] std::vector<NamedFile> keys_of_programs(const shell::Script& script, const std::string& folder);

/// Asks for what the words alone leave open, and refuses programs for other accelerators.
void complete_keys(const NamedFile& named, Report& report);

}  // namespace foretoken::io::launch
