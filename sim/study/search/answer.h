// The answer of a search: the best configurations simulated in full, the front, and what was left out.
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
  job::Job scenario;
  std::string text;                        ///< the scenario as JSON; of the ranked ones
  std::optional<report::Metrics> metrics;  ///< of the ranked ones, with intervals
};

struct SearchAnswer {
  std::string name;
  search::Objective objective = search::Objective::kStepTime;
  std::array<search::Objective, 2> axes{};
  std::vector<std::string> searched;  ///< keys that were open
  bool several_sizes = false;
  bool complete = true;
  std::size_t considered = 0, decided = 0, invalid = 0, too_large = 0;  ///< decided: all of them when complete
  std::vector<FoundConfiguration> ranked, front, smallest;
  trust::Difference difference;  ///< how well ranked configurations can be told apart
};

struct AnswerOptions {
  const trust::Evidence& evidence;  ///< what intervals are made of
  double level = trust::kUsualLevel;
  std::size_t threads = 1;
  bool resumed = false;  ///< some outcomes come from a file
};

/// Simulates what ranks. The outcome must not depend on anything but the request: shards and threads give the same.
[[nodiscard]] SearchAnswer answer_of(const SearchRequest& request, const search::Space& space,
                                     const search::Ranking& ranking, bool complete, const AnswerOptions& options);

/// What the fullest GPU must hold: the allocator's peak and what lives outside it.
[[nodiscard]] Bytes needed(const FoundConfiguration& found);

/// The same as a part of the memory there is.
[[nodiscard]] double filled(const FoundConfiguration& found);

/// Fuller is at the edge: peaks of published runs are missed by up to 2 % (docs/modeller/validation.md, set
/// megatron-ci), and allocators that run short make steps up to 20 % longer (sets mpt-fsdp-a100 and mpt-fsdp-h100).
inline constexpr double kEdgeOfMemory = 0.95;

/// Gives the text a name that says model, GPUs and cluster: the scenario's own may speak of other GPUs.
void rename(FoundConfiguration& found, const std::string& cluster);

/// The rules that stand in the way when no candidate is valid at all.
[[nodiscard]] std::vector<Complaint> why_none_is_valid(const io::OpenScenario& question,
                                                       const search::SpaceOptions& space);

/// "TP8 PP8 VPP3 DP16, micro-batch 1, selective, sequence parallel": what tells a configuration from others.
[[nodiscard]] std::string configuration_words(const search::Candidate& candidate);

/// Why the second loses to the first, from where their time goes; nothing with fewer than two.
[[nodiscard]] std::string why_runner_up_loses(const SearchAnswer& answer);

}  // namespace foretoken::study
