// The log of a training run as entries: the time of steps, rates, timers, and the pauses between steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::log {

/// The program that wrote the log. A log with lines of several counts as the first of them that states times.
enum class Format : std::uint8_t {
  kMegatron,
  kMlperf,
  kNemo,
  kNanotron,
  kTorchtitan,
  kComposer,
  kDeepSpeed,
  kTrainer,
};
inline constexpr std::size_t kFormats = 8;

/// Returns "Megatron-LM" and so on.
[[nodiscard]] std::string_view name_of(Format format);

/// The line of a step. Rates are as the log states them.
struct Entry {
  std::int64_t step = 0;
  std::int64_t steps = 1;  ///< that the entry is the mean of
  std::size_t line = 0;
  std::optional<double> seconds{};  ///< of one step
  std::optional<double> samples_per_s{}, tokens_per_s_per_gpu{}, tflops_per_gpu{}, mfu{};
  std::optional<std::int64_t> global_batch{};
  std::optional<double> at{};  ///< seconds of the clock
};

/// One timer of a step: its smallest and its largest time over the ranks, or twice the only one.
struct TimerReading {
  std::size_t entry = 0;  ///< place among the entries
  double least_s = 0, most_s = 0;
};

struct Timer {
  std::string name;  ///< "forward-compute"
  std::vector<TimerReading> readings;
};

/// The ranks that a timer speaks of: the one that prints, the slowest, or the fastest and the slowest.
enum class TimerScope : std::uint8_t { kOneRank, kMost, kLeastAndMost };

/// Something between two steps that takes time of its own.
enum class Pause : std::uint8_t { kEvaluation, kCheckpoint, kRestart };
struct PauseLine {
  Pause what = Pause::kEvaluation;
  std::size_t line = 0;
};

struct TrainingLog {
  Format format = Format::kMegatron;
  std::vector<Entry> entries;  ///< in the order of the file
  std::vector<Timer> timers;
  TimerScope timer_scope = TimerScope::kOneRank;
  std::vector<PauseLine> pauses;
  std::optional<std::int64_t> global_batch, sequence_length, gpus, local_batch;  ///< stated by its header
  std::optional<std::string> platform;                                           ///< "64xNVIDIA DGX H100"
  std::size_t broken_lines = 0;                                                  ///< lines of steps that end too early
  std::size_t repeated_lines = 0;  ///< lines in which other ranks say the same
  std::size_t lines = 0;
  bool is_cut = false;  ///< further steps were left out
  std::vector<std::string> notes;
};

}  // namespace foretoken::io::log
