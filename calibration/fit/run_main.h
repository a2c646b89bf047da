// Runs the body of a fitting program, and turns exceptions into exit status 2.
#pragma once

#include <cstdio>
#include <exception>

namespace foretoken::fit {

/// Returns run(argc, argv). An exception is printed instead, and its exit status is 2.
inline int run_main(int (*run)(int, char**), int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace foretoken::fit
