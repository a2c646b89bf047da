// Sets the thresholds of the GNU allocator; other C libraries are left as they are.
#include "sim/base/keep_memory.h"

#ifdef __linux__
#include <features.h>  // defines __GLIBC__, where it is the library
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace foretoken {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestKept = 32 << 20, kMostKept = 512 << 20;  // bytes: of one block, of all that is free at the top
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kMostKept);
#endif
}

}  // namespace foretoken
