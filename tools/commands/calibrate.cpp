// foretoken calibrate: from measurements of a GPU to a profile that predictions read.
#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/commands/calibrate_commands.h"

namespace foretoken::tools {

void add_calibrate(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("calibrate", "Profiles from measurements: import, fit, check, show, diff");
  command->footer(
      "foretoken-calibrate, built where CUDA is found, measures; these commands need no GPU.\n\n"
      "Examples:\n"
      "  foretoken calibrate import nccl-tests all_reduce.log -o collectives.jsonl\n"
      "  foretoken calibrate import gemm products.csv -o products.jsonl\n"
      "  foretoken calibrate fit --gpu my-gpu products.jsonl collectives.jsonl -o my-gpu.json\n"
      "  foretoken calibrate check my-gpu.json products.csv --json\n"
      "  foretoken calibrate show my-gpu.json\n"
      "  foretoken calibrate diff h100-sxm5-80gb ./my-gpu.json --svg both.svg\n");
  add_calibrate_import(*command, chosen);
  add_calibrate_fit(*command, chosen);
  add_calibrate_check(*command, chosen);
  add_calibrate_show(*command, chosen);
  add_calibrate_diff(*command, chosen);
}

}  // namespace foretoken::tools
