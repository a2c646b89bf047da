// The program `foretoken`: predicts what training a transformer on a GPU cluster will do.
#include "tools/commands.h"

int main(int argc, char** argv) { return foretoken::tools::run_program(argc, argv); }
