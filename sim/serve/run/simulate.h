// Runs a service: requests arrive, a router deals them out, instances serve them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serve/run/instance.h"
#include "sim/serve/run/request.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// One pass of an instance, for traces.
struct TracedPass {
  int instance = 0;
  Role role = Role::kWhole;
  Load load;
};

/// A finished run.
struct Run {
  std::vector<Request> requests;
  des::Duration makespan{};    ///< from the first arrival to the last token
  double request_seconds = 0;  ///< requests in the system, integrated over time
  double waiting_seconds = 0;  ///< requests that wait for their first pass, likewise
  std::int64_t passes = 0, preemptions = 0, peak_running = 0;
  double peak_cache = 0;             ///< of the pages of the fullest instance
  std::vector<TracedPass> traced{};  ///< empty unless asked for
};

/// Runs the requests of a service with the times of each of its pools. Precondition: its memory fits.
[[nodiscard]] Run simulate(const Service& service, const PoolTimes& times, bool traces);

}  // namespace foretoken::serve
