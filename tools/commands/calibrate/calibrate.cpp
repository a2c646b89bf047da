// The command `foretoken calibrate`: makes profiles of GPUs from measurements.
#include <CLI/CLI.hpp>

#include "tools/commands.h"
#include "tools/commands/calibrate/calibrate_commands.h"

namespace foretoken::tools {

void add_calibrate(CLI::App& program, Action& chosen) {
  CLI::App* command = program.add_subcommand("calibrate", "Make profiles of GPUs from measurements, and show them");
  command->footer(
      "These commands need no GPU. foretoken-calibrate measures one; it is built where CUDA is found.\n\n"
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
