// The program `foretoken`: predicts what training a transformer on a GPU cluster will do.
#include <malloc.h>

#include "tools/commands.h"

int main(int argc, char** argv) {
  // Task graphs of megabytes come and go. Memory that goes back to the system each time is cleared anew, and threads
  // wait for each other meanwhile: a search on two cores is 8 % shorter when it is kept.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  return foretoken::tools::run_program(argc, argv);
}
