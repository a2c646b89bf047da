// Finds the steady state with medians, so that up to half of the entries may be pauses.
#include "sim/study/diagnose/steady.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::study {
namespace {

using io::log::Entry;
using io::log::Pause;
using io::log::TrainingLog;

constexpr double kDeviations = 5, kLeastExcess = 0.05, kLeastSpread = 0.002;
constexpr std::size_t kFewEntries = 8;

double value_at(std::vector<double> values, double part) {
  const auto at = static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

// The median; of an even number of values the larger of the two in the middle.
double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double robust_deviation(const std::vector<double>& values, double centre) {
  std::vector<double> away;
  away.reserve(values.size());
  for (const double value : values) away.push_back(std::abs(value - centre));
  constexpr double kOfNormal = 1.4826;  // makes the median of absolute deviations a standard deviation
  return kOfNormal * middle_of(std::move(away));
}

std::optional<double> value_of(const Entry& entry, Measured measured) {
  switch (measured) {
    case Measured::kSeconds:
      return entry.seconds;
    case Measured::kSamplesPerSecond:
      return entry.samples_per_s;
    case Measured::kTokensPerSecondPerGpu:
      return entry.tokens_per_s_per_gpu;
  }
  return std::nullopt;
}

Measured measured_by(const TrainingLog& log) {
  for (const Entry& entry : log.entries)
    if (entry.seconds) return Measured::kSeconds;
  for (const Entry& entry : log.entries)
    if (entry.samples_per_s) return Measured::kSamplesPerSecond;
  return Measured::kTokensPerSecondPerGpu;
}

// The entries under work: their reason, and their time in seconds or relative to the rate.
class Sorter {
 public:
  Sorter(const TrainingLog& log, Steady& result) : log_(log), result_(result) {
    result.reasons.assign(log.entries.size(), Unsteady::kNone);
  }

  void run() {
    leave_out_other_batches();
    find_restarts();
    leave_out_warm_up();
    leave_out_far_values();
  }

  // Returns the values of steady entries. A rate counts by its inverse, so that slow is large.
  [[nodiscard]] std::vector<double> times() const {
    std::vector<double> values;
    for (std::size_t at = 0; at < log_.entries.size(); ++at)
      if (result_.reasons[at] == Unsteady::kNone) values.push_back(time_of(at));
    return values;
  }
  [[nodiscard]] double time_of(std::size_t at) const {
    const double value = value_of(log_.entries[at], result_.measured).value_or(0);
    return result_.measured == Measured::kSeconds ? value : 1 / value;
  }

 private:
  void leave_out(std::size_t at, Unsteady reason) {
    if (result_.reasons[at] == Unsteady::kNone) result_.reasons[at] = reason;
  }

  void leave_out_other_batches() {
    for (auto entry = log_.entries.rbegin(); entry != log_.entries.rend() && !result_.global_batch; ++entry)
      result_.global_batch = entry->global_batch;
    for (std::size_t at = 0; at < log_.entries.size(); ++at) {
      const Entry& entry = log_.entries[at];
      if (!value_of(entry, result_.measured)) leave_out(at, Unsteady::kNoTime);
      if (entry.global_batch && entry.global_batch != result_.global_batch) leave_out(at, Unsteady::kRampUp);
    }
    if (!result_.global_batch) result_.global_batch = log_.global_batch;
  }

  // A run starts again where its steps go back.
  void find_restarts() {
    starts_.push_back(0);
    for (std::size_t at = 1; at < log_.entries.size(); ++at)
      if (log_.entries[at].step <= log_.entries[at - 1].step && log_.format != io::log::Format::kMlperf)
        starts_.push_back(at);
    result_.restarts = starts_.size() - 1;
  }

  void leave_out_warm_up() {
    const std::vector<double> all = times();
    if (all.size() < 2) return;
    if (all.size() >= kFewEntries) {
      std::size_t quarter = all.size() / 4;
      for (std::size_t at = 0; at < log_.entries.size() && quarter > 0; ++at)
        if (result_.reasons[at] == Unsteady::kNone) {
          leave_out(at, Unsteady::kWarmUp);
          --quarter;
        }
    }
    std::vector<double> rest = times();
    if (all.size() < kFewEntries) rest.erase(rest.begin());  // the first of few may be all of the warm-up
    const double centre = middle_of(rest);
    const double most = limit_above(rest, centre);
    for (const std::size_t start : starts_)
      for (std::size_t at = start; at < log_.entries.size(); ++at) {
        if (result_.reasons[at] != Unsteady::kNone) continue;
        if (time_of(at) <= most && at != start) break;
        if (time_of(at) > most) leave_out(at, Unsteady::kWarmUp);
      }
  }

  // With few entries the spread may be that of pauses: only the lower half of the values counts for it then.
  [[nodiscard]] static double limit_above(const std::vector<double>& values, double centre) {
    std::vector<double> lower;
    for (const double value : values)
      if (value <= centre) lower.push_back(value);
    const double spread = values.size() < kFewEntries && !lower.empty() ? robust_deviation(lower, centre)
                                                                        : robust_deviation(values, centre);
    return centre * (1 + std::max(kLeastExcess, kDeviations * std::max(spread / centre, kLeastSpread)));
  }

  void leave_out_far_values() {
    const std::vector<double> rest = times();
    if (rest.empty()) return;
    const double centre = middle_of(rest), most = limit_above(rest, centre), least = 2 * centre - most;
    for (std::size_t at = 0; at < log_.entries.size(); ++at) {
      if (result_.reasons[at] != Unsteady::kNone) continue;
      if (time_of(at) > most) leave_out(at, reason_of(at));
      if (time_of(at) < least) leave_out(at, Unsteady::kSkipped);
    }
  }

  // Returns the pause that stands between the entry before and this one.
  [[nodiscard]] Unsteady reason_of(std::size_t at) const {
    const std::size_t from = at == 0 ? 0 : log_.entries[at - 1].line, to = log_.entries[at].line;
    const auto pause =
        std::lower_bound(log_.pauses.begin(), log_.pauses.end(), from,
                         [](const io::log::PauseLine& each, std::size_t line) { return each.line < line; });
    if (pause == log_.pauses.end() || pause->line > to) return Unsteady::kStall;
    return pause->what == Pause::kEvaluation ? Unsteady::kEvaluation : Unsteady::kCheckpoint;
  }

  const TrainingLog& log_;
  Steady& result_;
  std::vector<std::size_t> starts_;
};

// Returns the steps between stalls when at least three distances agree within a fifth.
std::optional<double> period_of(const TrainingLog& log, const std::vector<Unsteady>& reasons) {
  std::vector<double> at, apart;
  for (std::size_t entry = 0; entry < reasons.size(); ++entry)
    if (reasons[entry] == Unsteady::kStall) at.push_back(static_cast<double>(log.entries[entry].step));
  for (std::size_t stall = 1; stall < at.size(); ++stall) apart.push_back(at[stall] - at[stall - 1]);
  constexpr std::size_t kFewest = 3;
  if (apart.size() < kFewest) return std::nullopt;
  const double usual = middle_of(apart);
  std::size_t agree = 0;
  for (const double distance : apart) agree += std::abs(distance - usual) <= 0.2 * usual ? 1U : 0U;
  return usual > 0 && 4 * agree >= 3 * apart.size() ? std::optional(usual) : std::nullopt;
}

template <class Field>
std::optional<double> median_of(const TrainingLog& log, const Steady& steady, Field field) {
  std::vector<double> values;
  for (std::size_t at = 0; at < log.entries.size(); ++at)
    if (steady.reasons[at] == Unsteady::kNone && log.entries[at].*field) values.push_back(*(log.entries[at].*field));
  return values.empty() ? std::nullopt : std::optional(middle_of(std::move(values)));
}

double drift_of(const std::vector<double>& times) {
  constexpr std::size_t kFewest = 9;
  if (times.size() < kFewest) return 0;
  const auto third = static_cast<std::ptrdiff_t>(times.size() / 3);
  return middle_of({times.end() - third, times.end()}) / middle_of({times.begin(), times.begin() + third}) - 1;
}

void add_numbers(const TrainingLog& log, const Sorter& sorter, Steady& result) {
  const std::vector<double> times = sorter.times();
  expects(!times.empty(), "a log that was read states the time of a step");
  const double centre = middle_of(times);
  const bool seconds = result.measured == Measured::kSeconds;
  result.entries = times.size();
  result.median = seconds ? centre : 1 / centre;
  result.jitter = robust_deviation(times, centre) / centre;
  result.p95 = seconds ? value_at(times, 0.95) : 1 / value_at(times, 0.95);
  result.drift = drift_of(times);
  for (std::size_t at = 0; at < log.entries.size(); ++at) {
    const Unsteady reason = result.reasons[at];
    ++result.left_out[static_cast<std::size_t>(reason)];
    const auto steps = log.entries[at].steps;
    if (reason == Unsteady::kNone) result.steps += static_cast<std::size_t>(steps);
    const bool pause = reason == Unsteady::kEvaluation || reason == Unsteady::kCheckpoint || reason == Unsteady::kStall;
    if (pause && seconds) result.lost_s += (sorter.time_of(at) - centre) * static_cast<double>(steps);
  }
  result.left_out[0] = 0;
  result.stall_period_steps = period_of(log, result.reasons);
  result.samples_per_s = median_of(log, result, &Entry::samples_per_s);
  result.tokens_per_s_per_gpu = median_of(log, result, &Entry::tokens_per_s_per_gpu);
  result.tflops_per_gpu = median_of(log, result, &Entry::tflops_per_gpu);
  result.mfu = median_of(log, result, &Entry::mfu);
}

}  // namespace

std::string_view name_of(Unsteady reason) {
  constexpr std::array<std::string_view, kUnsteady> kNames{"steady",     "no time",    "ramp-up", "warm-up",
                                                           "evaluation", "checkpoint", "stall",   "skipped"};
  return kNames[static_cast<std::size_t>(reason)];
}

Steady steady_state(const TrainingLog& log) {
  Steady result;
  result.measured = measured_by(log);
  Sorter sorter(log, result);
  sorter.run();
  add_numbers(log, sorter, result);
  return result;
}

}  // namespace foretoken::study
