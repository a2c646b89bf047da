// Tests the settings of the allocator.
#include <gtest/gtest.h>

#include "sim/base/process/keep_memory.h"

#ifdef __linux__
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "sim/base/test_sanitized.h"

namespace foretoken {
namespace {

// Returns the blocks that a second thread gets from the system one by one, where little address space is left for it.
[[noreturn]] void count_blocks_of_a_thread() {
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlim_t used = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlim_t most = used + (rlim_t{48} << 20);  // a thread has a stack of 8 MiB; an arena would take 64
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(9);
  keep_freed_memory();
  std::jthread([] {
    std::vector<std::unique_ptr<int[]>> blocks;
    for (int i = 0; i < 2000; ++i) blocks.push_back(std::make_unique<int[]>(100));
    std::_Exit(mallinfo2().hblks > 100 ? 1 : 0);
  }).join();
  std::_Exit(9);
}

TEST(KeepMemory, ALimitOfMemoryMakesNoThreadAskTheSystemForEachBlock) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers have an allocator of their own";
  EXPECT_EXIT(count_blocks_of_a_thread(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace foretoken
#endif
