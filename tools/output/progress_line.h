// Shows the progress of a long command: a bar on a terminal, a line every 10 % elsewhere, nothing in the first second.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace foretoken::tools {

/// Returns a bar and `text` in fewer than `columns`: a shorter bar, then none, then less text where that is too narrow.
[[nodiscard]] std::string progress_words(double fraction, const std::string& text, std::size_t columns);

/// Returns " 50 %  2 of 4 rows, 1/s, 2 s left", or "working, 2 s so far" while the total is unknown (0). The rate is
/// that of the last `counted_s` seconds: counting may begin late. The first 1 % does not say what is left.
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t total, const std::string& things,
                                        double elapsed_s, double counted_s);

/// Returns true when a terminal gets a line: after a second of work, and a tenth of a second after the last line.
[[nodiscard]] bool redraws(double elapsed_s, double since_shown_s);

/// Writes to standard error. A terminal gets the line again every second, also while nothing new is shown: a single
/// item may take long. Any thread may call.
class ProgressLine {
 public:
  /// `things` are what is counted: "configurations". Work that counts nothing needs none. Without `lines_in_files` only
  /// a terminal gets progress.
  explicit ProgressLine(std::string things = "", bool lines_in_files = false);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::size_t done, std::size_t total);  ///< `done` 0: counting begins
  void clear();                                    ///< takes the line off the terminal until more is shown

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);
  void write_tenths(Clock::time_point now);

  std::string things_;
  bool terminal_, lines_in_files_;
  Clock::time_point start_ = Clock::now(), counted_ = start_, shown_ = start_;
  bool drawn_ = false, rests_ = false;
  std::size_t done_ = 0, total_ = 0, tenths_ = 0;
  std::mutex mutex_;  // of all above
  std::condition_variable_any never_;
  std::vector<std::jthread> clock_;  // last, so that it ends first
};

}  // namespace foretoken::tools
