// Reads lines of DeepSpeed's timer and of the Hugging Face Trainer.
#include <algorithm>
#include <cmath>

#include "sim/base/parse_number.h"
#include "sim/io/import/log/line_readers.h"
#include "sim/io/import/log/log_text.h"

namespace foretoken::io::log {
namespace {

constexpr double kLargestCount = 1e15;

std::int64_t whole_or(std::optional<double> value, std::int64_t otherwise) {
  return value && *value >= 0 && *value < kLargestCount ? static_cast<std::int64_t>(*value) : otherwise;
}

// Reads "15:19" or "1:15:19".
std::optional<double> take_duration(std::string_view& text) {
  double seconds = 0;
  for (int part = 0; part < 3; ++part) {
    const auto value = take_number<double>(text, 0, kLargestCount);
    if (!value) return std::nullopt;
    seconds = 60 * seconds + *value;
    if (!text.starts_with(':')) return part > 0 ? std::optional(seconds) : std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

// A progress bar of tqdm: "Epoch 0: 100%|####| 16/16 [15:19<00:00, 57.45s/it]". Its clock has whole seconds.
struct Progress {
  std::int64_t step = 0, total = 0;
  double elapsed = 0;
  std::optional<double> shown_s{};  ///< of a step, smoothed over the last ones
};

// Reads the rate behind the clock: ", 57.45s/it" or ", 2.50it/s". A comma may stand for the point.
std::optional<double> rate_in(std::string_view clock) {
  const bool slow = has(clock, "s/it");
  const std::size_t end = clock.find(slow ? "s/it" : "it/s");
  if (end == clock.npos) return std::nullopt;
  const std::size_t blank = clock.substr(0, end).find_last_of(' ');
  const auto value = ungrouped_after(clock.substr(blank == clock.npos ? 0 : blank), "");
  if (!value) return std::nullopt;
  return slow ? *value : 1 / *value;
}

// Returns the name that a bar has before its percentage, "Evaluating" of "[rank0] Evaluating:  40%"; empty without one.
std::string_view name_of_bar(std::string_view front) {
  constexpr std::string_view kPercentage = "0123456789.% ";
  front = front.substr(0, front.find_last_not_of(kPercentage) + 1);
  if (!front.ends_with(':')) return {};
  const std::size_t other = front.find_last_of("]}");
  return other == front.npos ? front : front.substr(other + 1);
}

// Bars of other work than steps have its name.
bool is_other_work(std::string_view front) {
  const std::string_view name = name_of_bar(front);
  for (const char* word : {"oading", "Eval", "eval", "Map", "Filter", "Generating", "okeniz", "Saving", "Fetching",
                           "Valid", "valid", "Predict", "Test", "Convert", "Pack", "Group", "Merg", "Sampl"})
    if (has(name, word)) return true;
  return false;
}

std::optional<Progress> progress_in(std::string_view line) {
  const std::size_t bar = line.rfind("| ");
  if (bar == line.npos || (!has(line, "it]") && !has(line, "it/s") && !has(line, "s/it"))) return std::nullopt;
  if (is_other_work(line.substr(0, line.find('|')))) return std::nullopt;
  std::string_view rest = line.substr(bar + 2);

  const auto step = take_number<std::int64_t>(rest, 0);
  const std::size_t open = rest.find('[');
  if (!step || !rest.starts_with('/') || open == rest.npos) return std::nullopt;
  rest.remove_prefix(1);
  const auto total = take_number<std::int64_t>(rest, 1);
  rest.remove_prefix(rest.find('[') + 1);
  const auto elapsed = take_duration(rest);
  if (!total || !elapsed || !rest.starts_with('<')) return std::nullopt;
  return Progress{*step, *total, *elapsed, rate_in(rest)};
}

// The clock gives the time of a step to a second. The rate is more exact, but a mean: tqdm weighs the last step with
// 0.3 and all before with the rest (its `smoothing`), which is taken out again. It counts within the second.
void take_progress(const Progress& progress, LogBuilder& log) {
  constexpr double kOfLast = 0.3;
  Entry entry{.step = progress.step, .steps = 0, .at = progress.elapsed};
  const Bar* const bar = log.bar_of(progress.total);
  if (bar != nullptr && progress.step > bar->entries.back().step) {
    const auto steps = static_cast<double>(progress.step - bar->entries.back().step);
    const double passed = std::max(0.0, progress.elapsed - bar->entries.back().at.value_or(0));
    double seconds = passed / steps;
    if (progress.shown_s) {
      const double shown_s = *progress.shown_s, before_s = bar->shown_s.value_or(shown_s);
      seconds = std::clamp((shown_s - (1 - kOfLast) * before_s) / kOfLast, std::max(0.0, passed - 1) / steps,
                           (passed + 1) / steps);
    }
    if (seconds > 0) entry.seconds = seconds;
  }
  log.add_bar(progress.total, entry, progress.shown_s);
}

// Adds what the rate of steps tells. It has three decimals. Beside the rate of samples it gives the batch, a whole
// number, and then the rate of samples gives the step more exactly.
void add_rates(std::optional<double> steps_per_s, double runtime, Entry& whole) {
  constexpr double kHalfDecimal = 0.0005;
  if (!steps_per_s) return;
  whole.seconds = 1 / *steps_per_s;
  const double batch = std::round(whole.samples_per_s.value_or(0) / *steps_per_s);
  if (batch >= 1 && batch < kLargestCount && batch * kHalfDecimal / *steps_per_s < 0.5) {
    whole.global_batch = static_cast<std::int64_t>(batch);
    whole.seconds = batch / *whole.samples_per_s;
  }
  whole.steps = std::max<std::int64_t>(1, whole_or(std::round(runtime / *whole.seconds), 1));
}

// The last line: the time of the whole run, with its start. It takes the place of a few steps. Without progress bars
// its rates tell the mean step.
void take_runtime(std::string_view line, double runtime, LogBuilder& log) {
  constexpr std::size_t kFewSteps = 8;
  TrainingLog& mine = log.of(Format::kTrainer);
  if (!mine.notes.empty() || mine.global_batch) return;                      // another rank
  if (const auto rate = positive_after(line, "'train_steps_per_second'")) {  // of three decimals
    constexpr double kHalfDecimal = 0.0005;
    log.state_steps_near(runtime * *rate, runtime * kHalfDecimal + 1);
  }
  const Bar* const bar = log.training_bar();
  const std::int64_t steps = bar == nullptr ? 0 : bar->entries.back().step;
  const auto samples_per_s = positive_after(line, "'train_samples_per_second'");
  if (bar != nullptr && bar->entries.size() > kFewSteps) {
    const double batch = std::round(samples_per_s.value_or(0) * runtime / static_cast<double>(steps));
    if (batch >= 1 && batch < kLargestCount) mine.global_batch = static_cast<std::int64_t>(batch);
    return;
  }
  Entry whole{.step = steps + 1, .steps = std::max<std::int64_t>(1, steps)};
  if (steps > 0) whole.seconds = runtime / static_cast<double>(steps);
  whole.samples_per_s = samples_per_s;
  if (steps == 0) add_rates(positive_after(line, "'train_steps_per_second'"), runtime, whole);
  log.drop_bars();
  mine.entries.clear();
  log.add(Format::kTrainer, whole);
  mine.notes.emplace_back("The log states only the time of the whole run: its mean step includes the start.");
}

}  // namespace

bool take_deepspeed(std::string_view line, LogBuilder& log) {
  if (has(line, "Generate time=") || has(line, "|ppo_ep:")) log.generates = true;
  if (const auto seconds = positive_after(line, "iter time (s)")) {
    Entry entry{.step = whole_or(number_after(line, "steps"), 0), .steps = 0};
    entry.seconds = seconds;
    entry.samples_per_s = positive_after(line, "samples/sec");
    entry.at = clock_in(line);
    log.add(Format::kDeepSpeed, entry);
    return true;
  }
  const bool newer = has(line, "RunningAvgSamplesPerSec"), older = !newer && has(line, "SamplesPerSec=");
  if (!newer && !older) return false;
  auto rate = positive_after(line, "CurrSamplesPerSec");
  if (!rate) rate = positive_after(line, "SamplesPerSec");
  if (!rate) {
    log.add_broken(Format::kDeepSpeed);
    return true;
  }
  if (older && has(line, "latency=")) return true;  // DeepSpeed-Chat, which is refused
  auto step = number_after(line, "global_step");
  if (!step) step = number_after(line, "step=");
  Entry entry{.step = whole_or(step, static_cast<std::int64_t>(log.of(Format::kDeepSpeed).entries.size())), .steps = 0};
  entry.samples_per_s = rate;
  entry.at = clock_in(line);
  log.add(Format::kDeepSpeed, entry);
  return true;
}

bool take_trainer(std::string_view line, LogBuilder& log) {
  if (const auto runtime = positive_after(line, "'train_runtime'")) {
    take_runtime(line, *runtime, log);
    return true;
  }
  if (const auto progress = progress_in(line)) {
    take_progress(*progress, log);
    return true;
  }
  if (has(line, "'eval_runtime'") || has(line, "'eval_loss'")) log.end_evaluation();
  if (const auto steps = positive_after(line, "Total optimization steps")) log.state_steps(whole_or(*steps, 0));
  return false;
}

}  // namespace foretoken::io::log
