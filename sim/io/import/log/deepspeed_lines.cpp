// Reads lines of DeepSpeed's timer and of the Hugging Face Trainer.
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

// A progress bar of tqdm: "| 16/16 [15:19<00:00, 57.45s/it]". Its clock has whole seconds.
struct Progress {
  std::int64_t step = 0;
  double elapsed = 0;
};
std::optional<Progress> progress_in(std::string_view line) {
  const std::size_t bar = line.rfind("| ");
  if (bar == line.npos || (!has(line, "it]") && !has(line, "it/s") && !has(line, "s/it"))) return std::nullopt;
  std::string_view rest = line.substr(bar + 2);

  const auto step = take_number<std::int64_t>(rest, 0);
  const std::size_t open = rest.find('[');
  if (!step || !rest.starts_with('/') || open == rest.npos) return std::nullopt;
  rest.remove_prefix(open + 1);
  const auto elapsed = take_duration(rest);
  if (!elapsed || !rest.starts_with('<')) return std::nullopt;
  return Progress{*step, *elapsed};
}

void take_progress(const Progress& progress, LogBuilder& log) {
  TrainingLog& mine = log.of(Format::kTrainer);
  Entry entry{.step = progress.step, .steps = 0, .at = progress.elapsed};
  if (!mine.entries.empty()) {
    const Entry& before = mine.entries.back();
    if (progress.step <= before.step) return;  // another rank, or an evaluation
    if (before.at && progress.elapsed > *before.at)
      entry.seconds = (progress.elapsed - *before.at) / static_cast<double>(progress.step - before.step);
  }
  log.add(Format::kTrainer, entry);
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

// The last line: the time of the whole run, with its start. It takes the place of a clock of whole seconds. Without
// progress bars its rates tell the mean step.
void take_runtime(std::string_view line, double runtime, LogBuilder& log) {
  TrainingLog& mine = log.of(Format::kTrainer);
  if (!mine.notes.empty()) return;  // another rank
  const std::int64_t steps = mine.entries.empty() ? 0 : mine.entries.back().step;
  Entry whole{.step = steps + 1, .steps = std::max<std::int64_t>(1, steps)};
  if (steps > 0) whole.seconds = runtime / static_cast<double>(steps);
  whole.samples_per_s = positive_after(line, "'train_samples_per_second'");
  if (steps == 0) add_rates(positive_after(line, "'train_steps_per_second'"), runtime, whole);
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
  return false;
}

}  // namespace foretoken::io::log
