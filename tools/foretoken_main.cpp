// The program `foretoken`: predicts time, memory and cost of training a transformer on a GPU cluster.
#include "sim/base/process/keep_memory.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  foretoken::keep_freed_memory();
  return foretoken::tools::run_program(argc, argv);
}
