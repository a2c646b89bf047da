// The answer of a search: the best configurations simulated in full, the Pareto front, and the nearest misses.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/scenario/open_scenario.h"
#include "sim/report/metrics.h"
#include "sim/study/search/ranking.h"
#include "sim/study/search/request.h"
#include "sim/trust/difference.h"

namespace foretoken::study {

/// One configuration of the answer.
struct FoundConfiguration {
  search::Candidate candidate;
  search::Outcome outcome;
  Seconds step_time;  ///< the headline: replayed, times what runs like it took longer
  job::Job scenario;
  std::string text;                        ///< the scenario as JSON; only of ranked ones
  std::optional<report::Metrics> metrics;  ///< with intervals; only of ranked ones
};

/// A size of several to try that has no configuration.
struct SizeWithout {
  int gpus = 0;
  std::string why;
};

struct SearchAnswer {
  std::string name;
  search::Objective objective = search::Objective::kStepTime;
  std::array<search::Objective, 2> axes{};
  std::vector<std::string> searched;  ///< the open keys
  bool several_sizes = false;
  bool complete = true;
  std::size_t considered = 0, decided = 0, invalid = 0, too_large = 0;  ///< decided: all when complete
  trust::Bias bias;  ///< of all configurations alike, so that it changes no rank
  std::vector<FoundConfiguration> ranked, front, smallest;
  std::vector<SizeWithout> without;  ///< of a complete search for several sizes
  trust::Difference difference;      ///< error of the predicted ratio of two configurations
};

struct AnswerOptions {
  const trust::Evidence& evidence;  ///< the validated cases behind intervals
  double level = trust::kUsualLevel;
  std::size_t threads = 1;
  bool resumed = false;  ///< some outcomes come from a file
};

/// Simulates the ranked configurations. The answer depends only on the request, not on the number of threads.
[[nodiscard]] SearchAnswer answer_of(const SearchRequest& request, const search::Space& space,
                                     const search::Ranking& ranking, bool complete, const AnswerOptions& options);

/// Returns the memory that the fullest GPU needs: the allocator's peak and the memory outside of it.
[[nodiscard]] Bytes needed(const FoundConfiguration& found);

/// Returns the same as a part of the GPU's memory.
[[nodiscard]] double filled(const FoundConfiguration& found);

/// Names the scenario by model, GPUs and cluster, because its own name may speak of other GPUs.
void rename(FoundConfiguration& found, const std::string& cluster);

/// Returns the layers of every stage, equal neighbours together: "11-2x12-11".
[[nodiscard]] std::string layers_words(const std::vector<int>& layers);

/// Describes a configuration: "TP8 PP8 VPP3 DP16 SP, micro-batch 1, recompute none, overlap grad_reduce, p2p".
[[nodiscard]] std::string configuration_words(const FoundConfiguration& found);
[[nodiscard]] std::string configuration_words(const search::Candidate& candidate, const job::Overlap& overlap);

/// Explains by the parts of their time why the second loses to the first. Returns nothing with fewer than two.
[[nodiscard]] std::string why_runner_up_loses(const SearchAnswer& answer);

}  // namespace foretoken::study
