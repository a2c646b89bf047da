// Reads the memory limits of Linux and of POSIX.
#include "sim/base/process/memory_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace foretoken {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The type of `resource` differs between C libraries.
template <class Resource>
double limit_of(Resource resource) {
  rlimit limit{};
  const bool limited = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<double>(limit.rlim_cur) : kNoLimit;
}

// "max" stands for none.
double limit_in(const char* file) {
  std::ifstream in(file);
  double bytes = 0;
  return in >> bytes && bytes > 0 ? bytes : kNoLimit;
}

double of_the_machine() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<double>(pages) * static_cast<double>(size) : kNoLimit;
}

}  // namespace

double memory_limit() {
  return std::min({of_the_machine(), limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA), limit_in("/sys/fs/cgroup/memory.max"),
                   limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

}  // namespace foretoken
