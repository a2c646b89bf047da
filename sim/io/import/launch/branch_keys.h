// Asks for the keys of a scenario about which only a branch of an open condition decides.
#pragma once

#include <functional>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Reads a command again with what each branch gives its open words. Asks for the keys that are stated there and differ
/// from those of `report`. Where only arguments of the script decide about the branches, none is taken, and a line says
/// so. `read` reads the command alone.
void ask_for_keys_of_branches(const shell::Script& script, const shell::Command& command,
                              const std::function<Report(const shell::Command&)>& read, Report& report);

}  // namespace foretoken::io::launch
