// Works on several threads, and gives results in the order of the questions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "sim/base/process/threads.h"

namespace foretoken::study {

/// Takes jobs from `next`, one call at a time, until it returns nothing. Answers each with `work` on one of `threads`
/// threads. Gives the answers to `emit` one at a time in the order of the jobs, as soon as possible: results do not
/// depend on the number of threads. An exception ends all work and is thrown here.
template <class Job, class Next, class Work, class Emit>
void ordered_parallel(int threads, Next next, Work work, Emit emit) {
  using Answer = decltype(work(std::declval<const Job&>()));
  std::mutex mutex;
  std::size_t taken = 0, emitted = 0;
  std::map<std::size_t, Answer> ready;
  std::exception_ptr failure;
  const auto worker = [&](std::size_t) {
    try {
      for (;;) {
        std::unique_lock lock(mutex);
        if (failure) return;
        std::optional<Job> job = next();
        if (!job) return;
        const std::size_t number = taken++;
        lock.unlock();
        Answer answer = work(*job);
        lock.lock();
        ready.emplace(number, std::move(answer));
        for (auto first = ready.begin(); !failure && first != ready.end() && first->first == emitted; ++emitted) {
          emit(first->second);
          first = ready.erase(first);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> others = start_threads(static_cast<std::size_t>(std::max(threads, 1)) - 1, worker);
  worker(0);
  others.clear();  // waits for them
  if (failure) std::rethrow_exception(failure);
}

}  // namespace foretoken::study
