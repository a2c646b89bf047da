// Thresholds of the GNU allocator.
#include "sim/base/keep_memory.h"

#include <malloc.h>

namespace foretoken {

void keep_freed_memory() {
  constexpr int kLargestKept = 32 << 20, kMostKept = 512 << 20;  // bytes: of one block, of all that is free at the top
  mallopt(M_MMAP_THRESHOLD, kLargestKept);
  mallopt(M_TRIM_THRESHOLD, kMostKept);
}

}  // namespace foretoken
