// The subcommands of `foretoken schedule`.
#pragma once

#include "tools/commands.h"

namespace foretoken::tools {

void add_schedule_list(CLI::App& schedule, Action& chosen);
void add_schedule_show(CLI::App& schedule, Action& chosen);
void add_schedule_make(CLI::App& schedule, Action& chosen);
void add_schedule_check(CLI::App& schedule, Action& chosen);

}  // namespace foretoken::tools
