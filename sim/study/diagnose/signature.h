// The times that a training log states about a step, as a simulation predicts them: the step, and its timers over
// ranks.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/step/lower.h"
#include "sim/study/diagnose/steady.h"

namespace foretoken::study {

/// A timer over all ranks: the least, the most, and the value of the last rank, which prints logs.
struct Spread {
  Seconds least, most, last;
};

/// The timers of Megatron-LM that a step has.
enum class TimerKind : std::uint8_t { kForwardBackward, kForward, kBackward, kGradients, kParameters, kOptimizer };
inline constexpr std::size_t kTimerKinds = 6;

/// Returns "forward-compute" and so on.
[[nodiscard]] std::string_view name_of(TimerKind kind);

struct Signature {
  Seconds step;
  std::optional<std::array<Spread, kTimerKinds>> timers;  ///< nothing for schedules without a flush
};

/// Simulates a step of `job`. Every time is times `factor`, the bias of the prediction (report::Metrics). `lowered` is
/// the lowered step of a job that differs only in its imperfections, if there is one.
[[nodiscard]] Signature signature_of(const job::Job& job, double factor, const step::LoweredStep* lowered = nullptr);

/// Returns `a` (part 0) to `b` (part 1), and beyond them for other parts.
[[nodiscard]] Signature between(const Signature& a, const Signature& b, double part);

/// The steady times of a log.
struct ObservedTimer {
  TimerKind kind = TimerKind::kForward;
  Seconds least, most;
};
struct ObservedStep {
  Seconds step{};
  double jitter = 0;
  std::size_t entries = 0;
  std::vector<ObservedTimer> timers{};
  io::log::TimerScope scope = io::log::TimerScope::kOneRank;  ///< of the timers
  std::optional<Seconds> data{};                              ///< batch-generator
};

/// Returns the medians of the steady entries. Precondition: the log states seconds.
[[nodiscard]] ObservedStep observed_step(const io::log::TrainingLog& log, const Steady& steady);

}  // namespace foretoken::study
