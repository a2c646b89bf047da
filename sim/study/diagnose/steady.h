// Finds the steady state of a training log: the steps that are neither warm-up, pauses nor stalls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/io/import/log/training_log.h"

namespace foretoken::study {

/// The reason why an entry of a log is not steady.
enum class Unsteady : std::uint8_t {
  kNone,
  kNoTime,      ///< it states no time
  kRampUp,      ///< another global batch than the last
  kWarmUp,      ///< at the start of the run, or after a restart
  kEvaluation,  ///< slow, and an evaluation stands before it
  kCheckpoint,  ///< slow, and a checkpoint stands before it
  kStall,       ///< slow without a reason in the log
  kSkipped,     ///< far too fast: a step without an update, or a line that is wrong
};
inline constexpr std::size_t kUnsteady = 8;

/// Returns "warm-up" and so on.
[[nodiscard]] std::string_view name_of(Unsteady reason);

/// The quantity that a log states for each step.
enum class Measured : std::uint8_t { kSeconds, kSamplesPerSecond, kTokensPerSecondPerGpu };

/// The steady steps of a log in numbers. Values are of `measured`.
struct Steady {
  Measured measured = Measured::kSeconds;
  double median = 0;
  double jitter = 0;  ///< robust standard deviation over the median: 1.4826 x median of absolute deviations
  double p95 = 0;     ///< the value that 95 % of the steady entries do not exceed
  double drift = 0;   ///< median of the last third over that of the first third, minus 1; 0 with under nine entries
  std::size_t entries = 0, steps = 0;             ///< steady ones
  std::array<std::size_t, kUnsteady> left_out{};  ///< entries by reason
  double lost_s = 0;                              ///< time of pauses and stalls beyond steady steps
  std::optional<double> stall_period_steps;       ///< steps between stalls, where they come at equal distances
  std::size_t restarts = 0;
  std::vector<Unsteady> reasons;                                                   ///< by entry
  std::optional<std::int64_t> global_batch;                                        ///< of the steady entries
  std::optional<double> samples_per_s, tokens_per_s_per_gpu, tflops_per_gpu, mfu;  ///< medians, as the log states them
};

/// Finds the steady state. The first quarter of the entries counts as warm-up at most, as in the functional tests of
/// Megatron-LM. A longer time than the median by five robust deviations, and by a twentieth, is no steady step.
[[nodiscard]] Steady steady_state(const io::log::TrainingLog& log);

}  // namespace foretoken::study
