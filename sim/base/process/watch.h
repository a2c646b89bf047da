// Watches long work: how much is done, and whether to stop.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace foretoken {

/// Every member may be empty. Work that is stopped returns what is done.
struct Watch {
  std::function<void(std::size_t done, std::size_t total)> progress = {};  ///< one call at a time
  const std::atomic<bool>* stop = nullptr;  ///< set: the work ends after the item at hand

  void show(std::size_t done, std::size_t total) const {
    if (progress) progress(done, total);
  }
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(); }
};

}  // namespace foretoken
