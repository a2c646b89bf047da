// Hosts of DeepSpeed's launcher, which a file lists.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/launcher_words.h"

namespace foretoken::io::launch {

/// Puts the GPUs of `deepspeed --hostfile FILE` in place of other counts, where the file is there: the slots of its
/// hosts, fewer with --num_nodes and --num_gpus. Other launchers, and --include, leave the counts as they are.
void take_hosts(const shell::Script& script, const shell::Command& command, const LaunchedProgram& launched,
                const std::string& folder, std::vector<Argument>& counts);

}  // namespace foretoken::io::launch
