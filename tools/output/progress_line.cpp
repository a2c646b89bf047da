// Shows the progress of a long command.
#include "tools/output/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/process/threads.h"
#include "sim/report/text/layout.h"
#include "sim/report/text/number.h"
#include "tools/output/terminal.h"

namespace foretoken::tools {
namespace {

constexpr double kQuietSeconds = 1, kRedrawSeconds = 0.1;
constexpr double kLeastPart = 0.01;  // of the work, before which its rate says nothing of what is left
constexpr std::size_t kBarColumns = 24;

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

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

std::string progress_text(std::size_t done, std::size_t total, const std::string& things, double elapsed_s,
                          double counted_s) {
  const std::string so_far = fmt::format("{:.0f} s so far", std::floor(elapsed_s));
  if (total == 0) return "working, " + so_far;
  const auto part = static_cast<double>(done), all = static_cast<double>(total);
  const std::string counted =
      fmt::format("{:3.0f} %  {} of {} {}, ", 100 * part / all, report::whole(part), report::whole(all), things);
  if (done == 0) return counted + so_far;
  const double rate = part / counted_s;
  const std::string speed = rate < 1 ? so_far : report::whole(rate) + "/s";
  const std::string left = fmt::format("{:.0f} s left", (all - part) / rate);
  if (part < kLeastPart * all) return counted + speed;
  return counted + (rate < 1 ? left : speed + ", " + left);
}

bool redraws(double elapsed_s, double since_shown_s) {
  return elapsed_s >= kQuietSeconds && since_shown_s >= kRedrawSeconds;
}

ProgressLine::ProgressLine(std::string things, bool lines_in_files)
    : things_(std::move(things)), terminal_(::isatty(STDERR_FILENO) == 1), lines_in_files_(lines_in_files) {
  if (!terminal_) return;
  clock_ = start_threads(1, [this](const std::stop_token& stop, std::size_t) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      never_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
      if (!stop.stop_requested() && !rests_) draw(Clock::now());
    }
  });
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  rests_ = true;
  if (std::exchange(drawn_, false)) write("\r\033[K");
}

void ProgressLine::show(std::size_t done, std::size_t total) {
  if (!terminal_ && !lines_in_files_) return;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (done == 0) counted_ = now;
  done_ = done;
  total_ = total;
  rests_ = false;
  if (terminal_)
    draw(now);
  else
    write_tenths(now);
}

void ProgressLine::draw(Clock::time_point now) {
  const double elapsed = seconds_between(start_, now);
  if (!redraws(elapsed, seconds_between(shown_, now))) return;
  shown_ = now;
  drawn_ = true;
  const double fraction = total_ == 0 ? 0 : static_cast<double>(done_) / static_cast<double>(total_);
  const std::size_t columns = terminal_columns(STDERR_FILENO).value_or(report::kScreenColumns);
  write("\r\033[K" + progress_words(fraction,
                                    progress_text(done_, total_, things_, elapsed, seconds_between(counted_, now)),
                                    columns));
}

void ProgressLine::write_tenths(Clock::time_point now) {
  if (total_ == 0) return;
  const std::size_t tenths = 10 * done_ / total_;
  const bool newer = std::exchange(tenths_, tenths) != tenths;
  const double elapsed = seconds_between(start_, now);
  if (newer && elapsed >= kQuietSeconds)
    write(progress_text(done_, total_, things_, elapsed, seconds_between(counted_, now)) + '\n');
}

}  // namespace foretoken::tools
