// Hosts of DeepSpeed's launcher and of mpirun, which a file lists.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/launcher_words.h"

namespace foretoken::io::launch {

/// Puts the GPUs of `deepspeed --hostfile FILE` in place of other counts, where the file is there: the slots of its
/// hosts, of the first ones with --num_nodes. --num_gpus counts for every host, whatever its slots. Other launchers and
/// --include leave the counts as they are, but for `mpirun --hostfile FILE python`, which fills all slots. Returns the
/// reason why DeepSpeed's launcher refuses the file; empty where it takes it.
[[nodiscard]] std::string take_hosts(const shell::Script& script, const shell::Command& command,
                                     const LaunchedProgram& launched, const std::string& folder,
                                     std::vector<Argument>& counts);

}  // namespace foretoken::io::launch
