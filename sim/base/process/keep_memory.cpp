// Keeps freed memory, and takes it in large steps, by settings of the GNU allocator. Others stay as they are.
#include "sim/base/process/keep_memory.h"

#ifdef __linux__
#include <features.h>  // defines __GLIBC__, where it is the library
#endif
#ifdef __GLIBC__
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>
#endif

namespace foretoken {

#ifdef __GLIBC__
namespace {

// Every thread gets an arena of its own, which reserves 64 MiB of address space (HEAP_MAX_SIZE in glibc's
// malloc/arena.c) and twice as much while it aligns them. Where that is refused, each block is a system call. So
// without room for an arena of every core, beside as much for the data, all threads share the first.
bool has_room_for_arenas() {
  constexpr rlim_t kArena = rlim_t{128} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0) return true;
  return limit.rlim_cur >= 2 * kArena * std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace
#endif

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargestBlock = 32 << 20,
                kMostFree = 512 << 20,  // bytes of one block, and of the free memory at the top
      kStep = 4 << 20;                  // by which the heap grows: otherwise page by page in all threads but the first
  mallopt(M_MMAP_THRESHOLD, kLargestBlock);
  mallopt(M_TRIM_THRESHOLD, kMostFree);
  mallopt(M_TOP_PAD, kStep);
  if (!has_room_for_arenas()) mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace foretoken
