// Tells scripts for devices that are no GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Refuses a script whose variables or sourced files are those of Ascend NPUs. What stands in a branch that may not run
/// does not count.
void refuse_other_devices(const shell::Script& script, Report& report);

/// Refuses a script that starts MaxText. Returns false for others.
[[nodiscard]] bool refuse_maxtext(const shell::Script& script, Report& report);

/// Returns true for a command whose library of collectives is that of another device, in a branch that may not run.
/// Other commands are read before it.
[[nodiscard]] bool is_branch_of_other_device(const shell::Command& command);

/// Returns the number, from 1, of the first command that is in no such branch; 1 where all are.
[[nodiscard]] std::int64_t usual_row(const std::vector<const shell::Command*>& trainings);

/// Returns the number, from 1, of the command with the most flags, the first of several; those in such branches count
/// last.
[[nodiscard]] std::int64_t fullest_row(const std::vector<const shell::Command*>& trainings);

/// Refuses the command that is read where its library of collectives is that of another device.
void refuse_other_backend(const shell::Command& command, Report& report);

}  // namespace foretoken::io::launch
