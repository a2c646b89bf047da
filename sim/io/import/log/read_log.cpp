// Cuts a log into lines and gives each to the readers, until one takes it.
#include "sim/io/import/log/read_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/io/import/log/line_readers.h"
#include "sim/io/import/log/log_text.h"
#include "sim/io/json/gunzip.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::log {
namespace {

constexpr std::array kReaders{take_megatron,   take_mlperf,    take_nemo,    take_nanotron,
                              take_torchtitan, take_deepspeed, take_trainer, take_composer};

// Takes the colours of a terminal out of a line: ESC [ ... letter.
std::string without_colours(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b' && at + 1 < line.size() && line[at + 1] == '[') {
      at += 2;
      while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
    } else if (line[at] != '\0') {
      text += line[at];
    }
  }
  return text;
}

void note_pauses(std::string_view line, LogBuilder& log) {
  if (has(line, "saving checkpoint at iteration") || has(line, "Saving checkpoint") ||
      has(line, "Saving the checkpoint"))
    log.add_pause(Pause::kCheckpoint);
  if (has(line, "validation loss at iteration") || has(line, "Validating:") || has(line, "validate step:"))
    log.add_pause(Pause::kEvaluation);
}

// A line without a colon, an equal sign and a bracket states no value, and only a checkpoint is told without them. Most
// other lines end here.
bool may_matter(std::string_view line) {
  constexpr std::size_t kShortest = 8;
  return line.size() >= kShortest && (line.find(':') != line.npos || line.find('=') != line.npos ||
                                      line.find('[') != line.npos || has(line, "aving"));
}

// Cuts text that comes in blocks into lines. A carriage return ends a line too: progress bars are redrawn with it.
class LineCutter {
 public:
  explicit LineCutter(LogBuilder& log) : log_(log) {}
  void add(std::string_view block) {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t at = 0, feed = block.find('\n'), back = block.find('\r');
    while (at < block.size()) {
      if (feed != kNone && feed < at) feed = block.find('\n', at);
      if (back != kNone && back < at) back = block.find('\r', at);
      const std::size_t end = std::min(feed, back);
      const std::string_view part = block.substr(at, end == kNone ? end : end - at);
      if (pending_.size() < kLongestLine) pending_.append(part.substr(0, kLongestLine - pending_.size()));
      if (end == kNone) return;
      finish_line();
      at = end + 1;
    }
  }
  void finish_line() {
    log_.begin_line();
    if (may_matter(pending_)) {
      if (pending_.find_first_of(std::string_view("\x1b\0", 2)) != pending_.npos) pending_ = without_colours(pending_);
      note_pauses(pending_, log_);
      for (const auto reader : kReaders)
        if (reader(pending_, log_)) break;
    }
    pending_.clear();
  }

 private:
  LogBuilder& log_;
  std::string pending_;
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// DeepSpeed states samples a second, and clocks. Both together give the samples of a step, which are a whole number.
void find_global_batch(TrainingLog& log) {
  if (log.global_batch || log.format != Format::kDeepSpeed) return;
  std::vector<double> samples;
  for (std::size_t at = 1; at < log.entries.size(); ++at) {
    const Entry &before = log.entries[at - 1], &entry = log.entries[at];
    if (!entry.at || !before.at || !entry.samples_per_s || entry.step <= before.step || *entry.at <= *before.at)
      continue;
    samples.push_back(*entry.samples_per_s * (*entry.at - *before.at) / static_cast<double>(entry.step - before.step));
  }
  constexpr double kMostBatch = 1e9;
  if (samples.empty()) return;
  const double found = median_of(std::move(samples));
  if (found < 0.5 || found > kMostBatch) return;
  log.global_batch = std::llround(found);
  log.notes.push_back(fmt::format("The global batch of {} follows from its rates and clocks.", *log.global_batch));
}

// Takes times and rates out that no step can have, as a broken counter writes them. A step takes a microsecond,
// as one kernel does, or more, and less than the 104 days of the longest simulated one.
// Bounds of rates are wide: they catch broken numbers alone.
void drop_impossible(TrainingLog& log) {
  constexpr double kShortest = 1e-6, kLongest = 9e6, kLeastRate = 1e-9, kMostRate = 1e12;
  std::int64_t dropped = 0;
  const auto drop = [](std::optional<double>& value, double least, double most) {
    const bool impossible = value && !(*value >= least && *value <= most);
    if (impossible) value.reset();
    return impossible;
  };
  for (Entry& entry : log.entries) {
    const bool time = drop(entry.seconds, kShortest, kLongest);
    const bool samples = drop(entry.samples_per_s, kLeastRate, kMostRate);
    const bool tokens = drop(entry.tokens_per_s_per_gpu, kLeastRate, kMostRate);
    if (time || samples || tokens) ++dropped;
  }
  for (Timer& timer : log.timers)
    std::erase_if(timer.readings, [](const TimerReading& reading) { return !(reading.most_s <= kLongest); });
  if (dropped > 0)
    log.notes.push_back(fmt::format("{} a time or a rate that no step can have; it does not count.",
                                    dropped == 1 ? "1 line states" : fmt::format("{} lines state", dropped)));
}

// Turns rates into times of a step where the log states the batch.
void complete(TrainingLog& log) {
  drop_impossible(log);
  find_global_batch(log);
  const bool timed =
      std::any_of(log.entries.begin(), log.entries.end(), [](const Entry& entry) { return entry.seconds.has_value(); });
  for (Entry& entry : log.entries) {
    const auto batch = entry.global_batch ? entry.global_batch : log.global_batch;
    if (!timed && !entry.seconds && entry.samples_per_s && batch)
      entry.seconds = static_cast<double>(*batch) / *entry.samples_per_s;
    if (!timed && !entry.seconds && entry.tokens_per_s_per_gpu && batch && log.gpus && log.sequence_length)
      entry.seconds = static_cast<double>(*batch) * static_cast<double>(*log.sequence_length) /
                      (*entry.tokens_per_s_per_gpu * static_cast<double>(*log.gpus));
  }
  const auto says_nothing = [&](const Entry& entry) {
    return timed ? !entry.seconds.has_value() : !entry.seconds && !entry.samples_per_s && !entry.tokens_per_s_per_gpu;
  };
  if (log.timers.empty())  // readings of timers count entries
    log.entries.erase(std::remove_if(log.entries.begin(), log.entries.end(), says_nothing), log.entries.end());
}

std::string nothing_found(const std::optional<TrainingLog>& log, std::size_t lines, const TrainingLog& mlperf) {
  if (log && log->format == Format::kComposer)
    return "Composer's batches state no time; expected lines of its speed monitor, try the callback speed_monitor";
  if (mlperf.lines > 0)
    return fmt::format(
        "the MLPerf log of {} states no time of a step (tracked_stats); expected train_step_time or "
        "throughput",
        in_quotes(mlperf.platform.value_or("an unnamed platform")));
  return fmt::format(
      "{} the time of a step; expected a log of Megatron-LM, NeMo, MLPerf, DeepSpeed, torchtitan, "
      "Composer, nanotron or the Hugging Face Trainer, or a PyTorch trace (.json, .json.gz)",
      lines == 0 ? "it is empty and does not state"
                 : fmt::format("none of {} states", with_noun(static_cast<std::int64_t>(lines), "line")));
}

std::optional<TrainingLog> finish(LogBuilder& builder, std::size_t lines, const std::string& file, Findings& findings) {
  const TrainingLog mlperf = builder.of(Format::kMlperf);
  std::optional<TrainingLog> log = builder.finished();
  if (log) complete(*log);
  if (builder.generates) {
    findings.complaints.push_back(
        {file, "", "it is a log of reinforcement learning, whose steps generate text; expected a log of pre-training"});
    return std::nullopt;
  }
  const bool says_time = log && !log->entries.empty() &&
                         (log->entries.front().seconds || log->entries.front().samples_per_s ||
                          log->entries.front().tokens_per_s_per_gpu || log->entries.back().seconds);
  if (says_time) return log;
  findings.complaints.push_back({file, "", nothing_found(log, lines, mlperf)});
  return std::nullopt;
}

// Counts lines while cutting; the builder counts them too, but gives its count away with the log. Progress bars alone
// have no line feed, and are not empty.
std::size_t lines_in(std::string_view block) {
  const auto feeds = static_cast<std::size_t>(std::count(block.begin(), block.end(), '\n'));
  return feeds > 0 ? feeds : static_cast<std::size_t>(std::count(block.begin(), block.end(), '\r'));
}

}  // namespace

std::optional<TrainingLog> read_log_text(std::string_view text, const std::string& file, Findings& findings) {
  LogBuilder builder;
  LineCutter cutter(builder);
  cutter.add(text);
  cutter.finish_line();
  return finish(builder, lines_in(text), file, findings);
}

std::optional<TrainingLog> read_log_file(const std::filesystem::path& path, Findings& findings) {
  const std::string name = printable(path.string());
  std::ifstream in(path, std::ios::binary);
  int defect = errno;
  std::error_code error;  // a name that is too long has no status
  if (std::filesystem::is_directory(path, error)) defect = EISDIR;
  if (!in || defect == EISDIR) {
    findings.complaints.push_back(
        {name, "", fmt::format("cannot be read: {}; expected the log of a training run", std::strerror(defect))});
    return std::nullopt;
  }
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::string block(kBlock, '\0');
  LogBuilder builder;
  LineCutter cutter(builder);
  std::size_t lines = 0, bytes = 0;
  while (in.read(block.data(), static_cast<std::streamsize>(kBlock)), in.gcount() > 0) {
    const std::string_view read(block.data(), static_cast<std::size_t>(in.gcount()));
    if (lines == 0 && is_gzip(read)) {
      const auto text = read_text_file(path, name, findings);
      return text ? read_log_text(*text, name, findings) : std::nullopt;
    }
    lines += lines_in(read);
    cutter.add(read);
    bytes += read.size();
    if (bytes >= kLongestFront && !builder.has_steps()) {
      findings.complaints.push_back({name, "",
                                     fmt::format("its first {} MiB state no step; expected the log of a training run; "
                                                 "try the part with its steps",
                                                 kLongestFront >> 20U)});
      return std::nullopt;
    }
  }
  cutter.finish_line();
  return finish(builder, lines, name, findings);
}

}  // namespace foretoken::io::log
