// The commands below `foretoken calibrate`.
#pragma once

#include "tools/commands.h"

namespace foretoken::tools {

void add_calibrate_import(CLI::App& calibrate, Action& chosen);
void add_calibrate_fit(CLI::App& calibrate, Action& chosen);
void add_calibrate_show(CLI::App& calibrate, Action& chosen);
void add_calibrate_diff(CLI::App& calibrate, Action& chosen);

}  // namespace foretoken::tools
