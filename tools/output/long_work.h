// The long work of a command: its progress on standard error, and Ctrl-C.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

#include "sim/base/process/watch.h"
#include "tools/output/progress_line.h"

namespace foretoken::tools {

inline constexpr int kInterrupted = 130;  ///< exit status: Ctrl-C came, and what was done is printed

/// Shows progress and catches Ctrl-C while it lives. The first Ctrl-C asks the work to end, a second one ends the
/// program. Only one may live at a time.
class LongWork {
 public:
  /// `things` are what is counted: "combinations". Where standard error is no terminal, progress is shown only with
  /// `lines_in_files`.
  explicit LongWork(std::string things, bool lines_in_files = false);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  /// Returns what the work reports to. It refers to this object.
  [[nodiscard]] Watch watch();
  [[nodiscard]] bool interrupted() const;
  /// Takes the progress line away, so that the answer stands alone. Ctrl-C counts until then.
  void end();
  /// Returns an answer, which is a JSON object. An interrupted one begins with "complete": false, and the numbers that
  /// are done and wanted.
  [[nodiscard]] std::string marked(std::string json) const;
  /// Returns `status`, or when Ctrl-C left something undone, says how much is done and returns kInterrupted. Call it
  /// last, after the answer is printed.
  [[nodiscard]] int status(int status);

 private:
  std::string things_;
  ProgressLine line_;
  std::size_t done_ = 0, total_ = 0;
  bool ended_ = false;
  struct sigaction before_ {};
};

}  // namespace foretoken::tools
