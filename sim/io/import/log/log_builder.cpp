// Collects entries, timers and pauses, and decides in the end which program's lines count.
#include "sim/io/import/log/log_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace foretoken::io::log {
namespace {

bool states_time(const Entry& entry) { return entry.seconds || entry.samples_per_s || entry.tokens_per_s_per_gpu; }

bool states_time(const TrainingLog& log) {
  return std::any_of(log.entries.begin(), log.entries.end(), [](const Entry& entry) { return states_time(entry); });
}

Timer* timer_of(TrainingLog& log, std::string_view name) {
  for (Timer& timer : log.timers)
    if (timer.name == name) return &timer;
  if (log.timers.size() == kMostTimers) return nullptr;
  log.timers.push_back({std::string(name), {}});
  return &log.timers.back();
}

}  // namespace

std::string_view name_of(Format format) {
  constexpr std::array<std::string_view, kFormats> kNames{
      "Megatron-LM", "MLPerf", "NeMo", "nanotron", "torchtitan", "Composer", "DeepSpeed", "Hugging Face Trainer"};
  return kNames[static_cast<std::size_t>(format)];
}

bool LogBuilder::has_steps() const {
  return !bars_.empty() || std::any_of(logs_.begin(), logs_.end(), [](const TrainingLog& log) {
    return !log.entries.empty() || log.broken_lines > 0;
  });
}

void LogBuilder::add(Format format, Entry entry) {
  TrainingLog& log = of(format);
  entry.line = line_;
  if (!log.entries.empty() && log.entries.back().step == entry.step && format != Format::kMlperf) {
    ++log.repeated_lines;
    return;
  }
  if (log.entries.size() == kMostEntries) {
    log.is_cut = true;
    return;
  }
  const bool follows = !log.entries.empty() && entry.step > log.entries.back().step;
  if (follows && entry.steps == 0) entry.steps = entry.step - log.entries.back().step;
  entry.steps = std::max<std::int64_t>(1, entry.steps);
  log.entries.push_back(entry);
}

void LogBuilder::add_bar(std::int64_t total, const Entry& entry, std::optional<double> shown_s) {
  constexpr std::size_t kMostBars = 16;
  if (bars_.size() >= kMostBars && !bars_.contains(total)) return;
  last_bar_ = total;
  Bar& bar = bars_[total];
  std::vector<Entry>& entries = bar.entries;
  const bool follows = entries.empty() || entry.step > entries.back().step;
  if (!follows || entries.size() == kMostEntries) {
    of(Format::kTrainer).is_cut |= follows;
    return;
  }
  const std::int64_t steps = entries.empty() ? 1 : entry.step - entries.back().step;
  bar.shown_s = shown_s;
  entries.push_back(entry);
  entries.back().line = line_;
  entries.back().steps = steps;
}

const Bar* LogBuilder::bar_of(std::int64_t total) const {
  const auto bar = bars_.find(total);
  return bar == bars_.end() ? nullptr : &bar->second;
}

void LogBuilder::state_steps_near(double steps, double error) {
  for (const auto& [total, bar] : bars_)
    if (!stated_steps_ && std::abs(static_cast<double>(total) - steps) <= error) stated_steps_ = total;
}

void LogBuilder::end_evaluation() {
  const auto last = bars_.find(last_bar_);
  if (last != bars_.end() && last->second.entries.back().step == last_bar_) last->second.evaluates = true;
}

const Bar* LogBuilder::training_bar() const {
  if (const Bar* const stated = stated_steps_ ? bar_of(*stated_steps_) : nullptr; stated != nullptr) return stated;
  const Bar* longest = nullptr;
  const auto precedes = [](const Bar& a, const Bar& b) {
    return a.evaluates != b.evaluates ? a.evaluates : a.entries.back().at < b.entries.back().at;
  };
  for (const auto& [total, bar] : bars_)
    if (longest == nullptr || precedes(*longest, bar)) longest = &bar;
  return longest;
}

// Nothing tells which bar is the training's, and another one has run for a tenth of its time or more.
void LogBuilder::note_other_bars(const Bar& chosen) {
  constexpr double kShare = 0.1;
  if (stated_steps_ && bar_of(*stated_steps_) != nullptr) return;
  for (const auto& [total, bar] : bars_) {
    if (&bar == &chosen || bar.evaluates) continue;
    if (bar.entries.back().at.value_or(0) < kShare * chosen.entries.back().at.value_or(0)) continue;
    of(Format::kTrainer)
        .notes.push_back(
            fmt::format("A progress bar of {} steps stands beside the one that counts, which ran longer.", total));
  }
}

void LogBuilder::add_pause(Pause what) {
  if (pauses_.size() < kMostPauses) pauses_.push_back({what, line_});
}

void LogBuilder::add_timer(Format format, std::string_view name, double least_s, double most_s) {
  constexpr std::size_t kLongestName = 64;
  TrainingLog& log = of(format);
  if (log.entries.empty() || name.empty() || name.size() > kLongestName) return;
  Timer* const timer = timer_of(log, name);
  if (timer != nullptr && timer->readings.size() < kMostReadings)
    timer->readings.push_back({log.entries.size() - 1, least_s, most_s});
}

void LogBuilder::add_rank_timer(Format format, std::string_view name, double seconds) {
  TrainingLog& log = of(format);
  if (log.entries.empty()) return;
  Timer* const timer = timer_of(log, name);
  if (timer == nullptr) return;
  const std::size_t entry = log.entries.size() - 1;
  if (timer->readings.empty() || timer->readings.back().entry != entry)
    return add_timer(format, name, seconds, seconds);
  TimerReading& reading = timer->readings.back();
  reading.least_s = std::min(reading.least_s, seconds);
  reading.most_s = std::max(reading.most_s, seconds);
}

std::optional<TrainingLog> LogBuilder::finished() {
  if (const Bar* const bar = training_bar()) {
    of(Format::kTrainer).entries = bar->entries;
    note_other_bars(*bar);
  }
  TrainingLog* best = nullptr;
  for (TrainingLog& log : logs_)
    if (best == nullptr && states_time(log)) best = &log;
  for (TrainingLog& log : logs_)
    if (best == nullptr && !log.entries.empty()) best = &log;
  if (best == nullptr) return std::nullopt;
  best->format = static_cast<Format>(best - logs_.data());
  best->pauses = std::move(pauses_);
  best->lines = line_;
  return std::move(*best);
}

}  // namespace foretoken::io::log
