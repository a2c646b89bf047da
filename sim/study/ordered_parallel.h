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
  const auto worker = [&] {
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
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(worker);
  worker();
  for (std::thread& thread : others) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace foretoken::study
