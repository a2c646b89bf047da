// Starts threads, as many as the system grants.
#pragma once

#include <execinfo.h>

#include <cstddef>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace foretoken {

/// Starts `count` threads of `work(number)`, numbered from 1; fewer when the system gives no more. They end with the
/// vector. The work must be right with none of them: the caller does its own part.
template <class Work>
[[nodiscard]] std::vector<std::jthread> start_threads(std::size_t count, const Work& work) {
  std::vector<std::jthread> threads;
  if (count == 0) return threads;
  // The C library loads its unwinder when an exception first passes it, and ends the program where memory is too short
  // for that by then. Asking for a frame loads it now.
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);
  threads.reserve(count);
  try {
    for (std::size_t number = 1; number <= count; ++number) threads.emplace_back(work, number);
  } catch (const std::system_error&) {  // a limit of processes or memory
  }
  return threads;
}

}  // namespace foretoken
