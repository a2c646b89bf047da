// Measures the cost of slow and failed hardware: repairs each part in turn, and runs the step again.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "sim/report/metrics.h"
#include "sim/report/waterfall.h"
#include "sim/step/lower.h"

namespace foretoken::study {

struct How;
struct Prediction;
enum class Delays : std::uint8_t;

/// Returns the job with equal GPUs, no jitter and all links at their rates. Ranks stay where they are placed.
[[nodiscard]] job::Job repaired(job::Job job);

/// The step with everything slow repaired, where several parts are slow. A small one runs beside the caller's work, on
/// a thread of its own: the run of the slow step takes as long.
class SoundStep {
 public:
  /// All arguments must outlive this object. `how` is resolved.
  SoundStep(const step::LoweredStep& step, const job::Job& job, const How& how);
  /// Waits for the step. Returns nothing where it was not started; throws what ended it.
  [[nodiscard]] std::optional<Seconds> time();

 private:
  std::optional<Seconds> time_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last, so that it ends first
};

/// The choice of runs that delays_of makes.
struct DelayRuns {
  Delays which;
  std::size_t size = 0;  ///< of the prediction's run: its tasks, and the links that its flows cross
  std::optional<Seconds> sound = std::nullopt;  ///< the step with everything repaired, where it is known
};

/// Returns the slow hardware that the step waits for. `kTogether` has the last entry alone. `kEach` has, in this order:
///   1. at most eight parts that the job states as slow or failed, the largest gain first, then all others together;
///   2. at most three GPUs or hosts that were drawn, then all drawn ones together;
///   3. everything slow.
/// The lowered step runs once for each of them, at most fourteen times. Of more than two parts fewer have an entry
/// where a run is large, and in the largest runs the last entry stands alone.
[[nodiscard]] std::vector<report::Delay> delays_of(const Prediction& prediction, const DelayRuns& runs);

/// Returns the waterfall from the ideal step to the predicted one. With slow hardware it is the waterfall of the
/// repaired step, with one more line up to the prediction.
[[nodiscard]] report::Waterfall waterfall_of(const Prediction& prediction);

}  // namespace foretoken::study
