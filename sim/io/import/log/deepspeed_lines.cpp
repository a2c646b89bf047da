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

// The last line: the time of the whole run, with its start. It takes the place of a clock of whole seconds. Without
// progress bars the number of steps is unknown, and its rate is all there is.
void take_runtime(std::string_view line, double runtime, LogBuilder& log) {
  TrainingLog& mine = log.of(Format::kTrainer);
  if (!mine.notes.empty()) return;  // another rank
  const std::int64_t steps = mine.entries.empty() ? 0 : mine.entries.back().step;
  Entry whole{.step = steps + 1, .steps = std::max<std::int64_t>(1, steps)};
  if (steps > 0) whole.seconds = runtime / static_cast<double>(steps);
  whole.samples_per_s = positive_after(line, "'train_samples_per_second'");
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
