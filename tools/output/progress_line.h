// Shows the progress of a long command: a bar on a terminal, a line every 10 % elsewhere, nothing in the first second.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace foretoken::tools {

/// Returns a bar and `text` in fewer than `columns`: a shorter bar, then none, then less text where that is too narrow.
[[nodiscard]] std::string progress_words(double fraction, const std::string& text, std::size_t columns);

/// Writes to standard error. One thread may use it at a time.
class ProgressLine {
 public:
  /// `things` are what is counted: "configurations". Without `lines_in_files` only a terminal gets progress.
  ProgressLine(std::string things, bool lines_in_files);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::size_t done, std::size_t total);
  void clear();  ///< takes the line off the terminal

 private:
  using Clock = std::chrono::steady_clock;
  std::string things_;
  bool terminal_, lines_in_files_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
  bool drawn_ = false;
  std::size_t tenths_ = 0;
};

}  // namespace foretoken::tools
