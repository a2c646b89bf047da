// Shows the progress of a long command.
#include "tools/output/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/report/text/layout.h"
#include "sim/report/text/number.h"
#include "tools/output/terminal.h"

namespace foretoken::tools {
namespace {

constexpr double kQuietSeconds = 1, kRedrawSeconds = 0.1;
constexpr std::size_t kBarColumns = 24;

void write(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

}  // namespace

std::string progress_words(double fraction, const std::string& text, std::size_t columns) {
  constexpr std::size_t kAroundBar = 3, kShortestBar = 4;
  const std::size_t room = columns - std::min<std::size_t>(columns, 1);  // a full line would wrap
  const std::size_t used = report::columns_of(text) + kAroundBar;
  if (used + kShortestBar > room) return report::one_line(text, room).substr(0, room);
  const std::size_t bar = std::min(kBarColumns, room - used);
  return '[' + report::pad_right(report::bar(fraction, bar), bar) + "] " + text;
}

ProgressLine::ProgressLine(std::string things, bool lines_in_files)
    : things_(std::move(things)), terminal_(::isatty(STDERR_FILENO) == 1), lines_in_files_(lines_in_files) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (std::exchange(drawn_, false)) write("\r\033[K");
}

void ProgressLine::show(std::size_t done, std::size_t total) {
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::size_t tenths = total == 0 ? 10 : 10 * done / total;
  const bool newer = terminal_ ? std::chrono::duration<double>(now - shown_).count() >= kRedrawSeconds
                               : std::exchange(tenths_, tenths) != tenths;
  if (!terminal_ && !lines_in_files_) return;
  if (elapsed < kQuietSeconds || !newer || total == 0) return;
  shown_ = now;
  const double fraction = static_cast<double>(done) / static_cast<double>(total);
  const double rate = static_cast<double>(done) / elapsed;
  const std::string left = done == 0 ? "" : fmt::format(", {:.0f} s left", static_cast<double>(total - done) / rate);
  const std::string text =
      fmt::format("{:3.0f} %  {} of {} {}, {}/s{}", 100 * fraction, report::whole(static_cast<double>(done)),
                  report::whole(static_cast<double>(total)), things_, report::whole(rate), left);
  drawn_ = terminal_;
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(report::kScreenColumns);
  write(terminal_ ? "\r\033[K" + progress_words(fraction, text, columns) : text + '\n');
}

}  // namespace foretoken::tools
