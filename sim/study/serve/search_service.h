// Searches the configurations of a service: layouts x precisions x users or batches x token budgets.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/process/watch.h"
#include "sim/serve/predict.h"
#include "sim/study/serve/layouts.h"

namespace foretoken::study {

/// The choices of a search. An empty list of sizes or precisions leaves the service's own.
struct ServiceSpace {
  std::vector<int> gpus{};  ///< a static batch: its own and all smaller powers of two where empty
  std::vector<serve::WeightPrecision> precisions{};
  std::vector<std::int64_t> loads{};  ///< users or batches; empty: powers of two, to 1024 an instance
  std::vector<std::int64_t>
      token_budgets{};  ///< empty: the engine's, 512, 2048, 8192, 16384; of split pools the engine's and 8192
  FixedDegrees fixed{};
  bool splits = true;  ///< also pools for prompts and decoding
};

/// A configuration with its prediction.
struct ServedConfiguration {
  ServiceLayout layout;
  serve::Requests requests;  ///< without the trace
  std::int64_t token_budget = 0;
  serve::Prediction prediction;

  /// Returns the part of the requests that met all stated limits; 1 without limits.
  [[nodiscard]] double share_within() const;
};

/// The wishes beyond the service's limits.
struct ServiceGoal {
  double share = 0.9;           ///< of requests that must meet all limits; 90 % as in DistServe (arXiv:2401.09670)
  double least_per_gpu = 0;     ///< output tokens/s
  bool lowest_latency = false;  ///< otherwise the most output tokens/s a GPU
};

struct ServiceSearch {
  std::vector<ServedConfiguration> fitting;  ///< all that fit, in the order of the search
  std::vector<std::size_t> ranked;           ///< those that reach the goal, best first; of token budgets the best
  std::vector<std::size_t> front;            ///< the Pareto front, by falling throughput a GPU
  std::optional<std::size_t>
      nearest;  ///< where none reaches the goal: the one with the largest share within, then the most throughput
  std::size_t layouts = 0, tried = 0, too_large = 0;
  bool splits_of_front_only = false;  ///< there were too many: pools had only degrees on the front of whole services
  bool complete = true;
};

/// Searches on `threads` threads. The result does not depend on their number. First come services without pools of
/// their own for prompts. Then those pools are tried, with all degrees that fitted, or where these are many, those on
/// the Pareto front so far.
[[nodiscard]] ServiceSearch search_service(const serve::Service& service, const ServiceSpace& space,
                                           const ServiceGoal& goal, int threads, const Watch& watch);

/// The Pareto front: no other configuration has as much throughput a GPU and as little of both times. The times are
/// the means of TTFT and TPOT; of a static batch it is the latency.
[[nodiscard]] std::vector<std::size_t> pareto_front(const std::vector<ServedConfiguration>& all, bool is_static);

}  // namespace foretoken::study
