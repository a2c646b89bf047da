// Shows the progress of a long command: a bar on a terminal, a line every 10 % elsewhere, nothing in the first second.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace foretoken::tools {

/// Writes to standard error. One thread may use it at a time.
class ProgressLine {
 public:
  explicit ProgressLine(std::string things);  ///< "configurations"
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string things_;
  bool terminal_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
  bool drawn_ = false;
  std::size_t tenths_ = 0;
};

}  // namespace foretoken::tools
