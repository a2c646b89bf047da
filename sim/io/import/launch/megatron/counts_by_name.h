// GPUs that variables of a script name: WORLD_SIZE without a launcher, NUM_GPUS with DeepSpeed's.
#pragma once

#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Adds the counts that variables name to those of the launchers. Drops the one process of a program that python alone
/// starts, where its flags (`program`) or variables say that something else starts it.
void add_counts_by_name(const shell::Script& script, const shell::Command& command,
                        const std::vector<Argument>& program, std::vector<Argument>& counts);

}  // namespace foretoken::io::launch::megatron
