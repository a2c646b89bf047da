// Predicts a service: one call runs the requests and counts what users and owners of GPUs care about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/serve/memory.h"
#include "sim/serve/passes.h"
#include "sim/serve/run/simulate.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// A time over all requests, in seconds. P50 and P99 are the smallest values that half and 99 % of them do not exceed.
struct Spread {
  double mean = 0, p50 = 0, p99 = 0;
};

struct Prediction {
  std::vector<Memory> memory;  ///< of the pool, or of both
  bool fits = true;            ///< otherwise nothing below is known

  std::int64_t requests = 0, input_tokens = 0, output_tokens = 0;
  Spread ttft{}, latency{};
  std::optional<Spread> tpot;  ///< of requests with two tokens or more
  double makespan_s = 0;
  double requests_per_s = 0, output_tokens_per_s = 0, total_tokens_per_s = 0;
  double tokens_per_s_per_gpu = 0;                ///< output tokens; of an encoder those of its prompts
  std::optional<double> cost_per_million_tokens;  ///< of the same
  std::optional<double> kwh_per_million_tokens;   ///< output tokens; GPUs at the limit of their power all the time
  std::optional<double> goodput_requests_per_s;   ///< those that met all stated limits
  std::int64_t judged = 0, met = 0;               ///< requests, and those that met all stated limits
  double arrival_span_s = 0;                      ///< from the first arrival to the last
  double early_ttft_s = 0, late_ttft_s = 0;       ///< means of the second and of the last fifth of the arrivals
  /// Requests come faster than they are answered: times grow with the number of requests.
  bool queue_grows = false;
  double mean_in_system = 0;
  std::int64_t passes = 0, preemptions = 0, peak_running = 0;
  double peak_cache_share = 0;
  std::vector<TracedPass> traced;
};

/// Predicts services that differ in their requests and their token budget only. Each pass is timed once for all.
class Predictor {
 public:
  explicit Predictor(Service service);
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  /// Predicts the service as it is.
  [[nodiscard]] Prediction predict(bool traces = false);
  /// Predicts it with other requests and another token budget, which it keeps.
  [[nodiscard]] Prediction predict(const Requests& requests, std::int64_t token_budget);

 private:
  Service service_;
  PoolTimes times_;  // refer to service_
};

/// Predicts one service. A service that does not fit has its memory only.
[[nodiscard]] Prediction predict(const Service& service, bool traces = false);

/// Returns an upper estimate of the passes of a run, without running it. Each request alone has a pass for every token.
/// Requests that are answered together share passes, and no pass is shorter than that of a single token.
/// Precondition: the degrees of the service are valid.
[[nodiscard]] double most_passes(const Service& service);

/// Returns true when the service serves requests as fast as they come. It ends at most 5 % of the arrivals' time and
/// the time of one answer after the last of them. Nor do Poisson arrivals wait longer and longer: the last fifth waits
/// for its first token at most 5 % of the arrivals' time longer than the second. Users of a closed loop wait, so every
/// service keeps up with them.
[[nodiscard]] bool keeps_up(const Requests& requests, const Prediction& prediction);

/// Returns what is assumed: the notes of the question, then what follows from engine, GPUs and degrees.
[[nodiscard]] std::vector<std::string> assumptions_of(const Service& service);

/// Returns what a reader must know before using the numbers: sentences.
[[nodiscard]] std::vector<std::string> warnings_of(const Service& service, const Prediction& prediction);

}  // namespace foretoken::serve
