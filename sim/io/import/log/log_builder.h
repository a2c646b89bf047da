// Collects what the lines of a log state, by the program that wrote them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/log/training_log.h"

namespace foretoken::io::log {

/// The most entries, timers and readings of one timer that are read. A log beyond that is said to be cut.
inline constexpr std::size_t kMostEntries = 500'000, kMostTimers = 64, kMostReadings = 20'000, kMostPauses = 100'000;

/// A progress bar and the time of a step that it showed last.
struct Bar {
  std::vector<Entry> entries;
  bool evaluates = false;  ///< a line of an evaluation followed it
  std::optional<double> shown_s{};
};

class LogBuilder {
 public:
  /// Begins the next line.
  void begin_line() { ++line_; }

  /// Adds the line of a step. A step that the last entry of the format already has is another rank's.
  void add(Format format, Entry entry);
  /// Adds a redrawn progress bar to those that have as many steps in all. Steps that it already has are another rank's.
  void add_bar(std::int64_t total, const Entry& entry, std::optional<double> shown_s);
  /// Returns the bar with `total` steps, or nullptr.
  [[nodiscard]] const Bar* bar_of(std::int64_t total) const;
  /// The log says how many steps the training has: its bar has as many.
  void state_steps(std::int64_t steps) { stated_steps_ = steps; }
  /// A rate over the whole run gives that number to within `error`.
  void state_steps_near(double steps, double error);
  /// The bar that was drawn last belongs to an evaluation, whose results follow.
  void end_evaluation();
  /// Returns the bar of the training: the one with as many steps as the log states, or else the one that has run for
  /// the longest beside those of evaluations.
  [[nodiscard]] const Bar* training_bar() const;
  void drop_bars() { bars_.clear(); }
  /// Counts a line of a step that ends before its time.
  void add_broken(Format format) { ++of(format).broken_lines; }
  void add_pause(Pause what);
  /// Adds a timer in seconds to the last entry of `format`.
  void add_timer(Format format, std::string_view name, double least_s, double most_s);
  /// Adds "word: value" of one rank to a timer.
  void add_rank_timer(Format format, std::string_view name, double seconds);

  [[nodiscard]] TrainingLog& of(Format format) { return logs_[static_cast<std::size_t>(format)]; }
  /// True when a line of a step or of a progress bar was added.
  [[nodiscard]] bool has_steps() const;
  /// True when a line can only be of training with generation inside (RLHF).
  bool generates = false;
  /// The kind of table that the following lines belong to: empty, "minmax", "max" or "all".
  std::string_view table;
  std::string table_timer;  ///< of "all": the timer that ranks follow

  /// Returns the log of the first format with times, or of the first with lines, or nothing.
  [[nodiscard]] std::optional<TrainingLog> finished();

 private:
  std::array<TrainingLog, kFormats> logs_{};
  void note_other_bars(const Bar& chosen);

  std::map<std::int64_t, Bar> bars_;  ///< by their number of steps
  std::int64_t last_bar_ = 0;         ///< the number of steps of the bar that was drawn last
  std::optional<std::int64_t> stated_steps_{};
  std::vector<PauseLine> pauses_;
  std::size_t line_ = 0;
};

}  // namespace foretoken::io::log
