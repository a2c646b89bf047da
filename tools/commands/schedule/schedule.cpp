// The command `foretoken schedule`: lists, shows and checks pipeline schedules.
#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/commands/schedule/schedule_commands.h"

namespace foretoken::tools {

void add_schedule(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("schedule", "List, show, make and check pipeline schedules");
  command->footer(
      "Examples:\n"
      "  foretoken schedule list\n"
      "  foretoken schedule show interleaved-1f1b --stages 4 --microbatches 8 --chunks 2\n"
      "  foretoken schedule show 1f1b --stages 4 --microbatches 8 --plain > my.txt\n"
      "  foretoken schedule make --stages 4 --microbatches 16 --limit 8 --csv made.csv\n"
      "  foretoken schedule check my.txt\n");
  add_schedule_list(*command, chosen);
  add_schedule_show(*command, chosen);
  add_schedule_make(*command, chosen);
  add_schedule_check(*command, chosen);
}

}  // namespace foretoken::tools
