// Reads the commands of NVIDIA's performance scripts, whose flags name a recipe and change it.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::bridge {

/// Returns true for a script that starts setup_experiment.py or run_script.py of Megatron-Bridge, or a program of
/// NeMo's scripts/performance: with a model, a kind of GPU and a number of GPUs.
[[nodiscard]] bool is_performance_script(const shell::Script& script);

/// Reads the command `row` of such a script with the flags behind --; empty: the first. The flags change a recipe that
/// is not there, so degrees, batch, length and recomputing that no flag states are asked for.
void read_performance_script(const shell::Script& script, const std::string& row, const std::vector<std::string>& flags,
                             Report& report);

}  // namespace foretoken::io::launch::bridge
