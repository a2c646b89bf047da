// Counts of edges into tasks, one byte each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "sim/base/large_vector.h"

namespace foretoken::des {

/// By task: a number of edges. Memory limits large graphs, and a byte a task keeps the counts in cache. The few counts
/// from kMany on stand in a table of their own.
class EdgeCounts {
 public:
  void reserve(std::size_t tasks) { bytes_.reserve(tasks); }
  void add_task() { bytes_.push_back(0); }

  [[nodiscard]] std::uint32_t operator[](std::uint32_t task) const {
    return bytes_[task] == kMany ? many_.at(task) : bytes_[task];
  }
  /// The bytes themselves: zero where a task has no edge.
  [[nodiscard]] const std::uint8_t* bytes() const { return bytes_.data(); }

  void count_up(std::uint32_t task) {
    std::uint8_t& count = bytes_[task];
    if (count == kMany) {
      ++many_[task];
    } else if (++count == kMany) {
      many_.emplace(task, kMany);
    }
  }
  /// Takes one edge away. Returns true when none is left.
  bool count_down(std::uint32_t task) {
    std::uint8_t& count = bytes_[task];
    if (count != kMany) return --count == 0;
    count = static_cast<std::uint8_t>(std::min<std::uint32_t>(--many_[task], kMany));
    return false;
  }

 private:
  static constexpr std::uint8_t kMany = 255;

  LargeVector<std::uint8_t> bytes_;
  std::unordered_map<std::uint32_t, std::uint32_t> many_;
};

}  // namespace foretoken::des
