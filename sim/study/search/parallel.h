// Runs a loop over independent items on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/base/process/threads.h"

namespace foretoken::search {

/// Calls work(thread, item) once for every item from 0 to `items` - 1, in any order, on `threads` threads (the caller's
/// is thread 0), or on fewer when the system gives no more. An exception ends the loop and is thrown here.
template <class Work>
void parallel_for(std::size_t threads, std::size_t items, Work work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto worker = [&](std::size_t thread) {
    try {
      for (std::size_t item = next++; item < items; item = next++) work(thread, item);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = items;
    }
  };
  std::vector<std::jthread> others = start_threads(std::max<std::size_t>(std::min(threads, items), 1) - 1, worker);
  worker(0);
  others.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
}

}  // namespace foretoken::search
