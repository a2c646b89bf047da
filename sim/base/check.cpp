// Ends the program when a contract is broken.
#include "sim/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace foretoken {

void contract_broken(const char* rule, const char* file, int line) {
  std::fprintf(stderr, "internal error: %s (%s:%d)\n", rule, file, line);
#ifdef NDEBUG
  std::_Exit(3);
#else
  std::abort();
#endif
}

}  // namespace foretoken
