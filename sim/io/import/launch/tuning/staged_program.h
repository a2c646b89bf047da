// Programs of the user's own around DeepSpeed's pipeline engine: deepspeed train.py --pipe_parallel_size 8.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/tuning/other_programs.h"

namespace foretoken::io::launch::tuning {

/// Returns true for a program that DeepSpeed's launcher starts with degrees of its engine, and without the sizes that
/// Megatron-LM has in every training.
[[nodiscard]] bool is_staged_program(const shell::Command& command);

/// Marks the arguments for map_stages(). Asks for degrees that nobody knows.
void take_staged_names(const Taken& taken, Report& report);

/// Maps the degrees. Returns the ranks that share a micro-batch.
[[nodiscard]] std::int64_t map_stages(const Settings& settings, Report& report);

/// Asks for what the code of such a program decides: recomputation, and the batch of a step where a degree is open.
void ask_beside_stages(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::tuning
