// Keeps freed memory, and takes it in large steps, by settings of the GNU allocator. Others stay as they are.
#include "sim/base/process/keep_memory.h"

#ifdef __linux__
#include <features.h>  // defines __GLIBC__, where it is the library
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace foretoken {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestBlock = 32 << 20,
                kMostFree = 512 << 20,  // bytes of one block, and of the free memory at the top
      kStep = 4 << 20;                  // by which the heap grows: otherwise page by page in all threads but the first
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TRIM_THRESHOLD, kMostFree);
  mallopt(M_TOP_PAD, kStep);
#endif
}

}  // namespace foretoken
