// Enumerates the configurations of a search: every possible choice of the open keys, in a fixed order.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/io/scenario/open_scenario.h"
#include "sim/job/patch.h"
#include "sim/schedule/schedule.h"

namespace foretoken::search {

/// The parts of job::kOffloadedParts that a search moves to the host.
using Offloads = std::array<bool, job::kOffloadedParts.size()>;

/// One choice of the open keys, except overlaps. They change no memory, so each candidate takes its fastest ones.
struct Candidate {
  int gpus = 1;
  PerAxis<int> degrees = PerAxis<int>(1);
  int virtual_pipeline = 1;
  int encoder_pipeline = 0;  ///< stages of the encoder where they are searched; 0: as stated, or there are none
  int schedule = 0;          ///< place in Space::schedules()
  std::int64_t micro = 1;
  int microbatch_group = 0;  ///< 0: the stated one, or the pipeline degree
  bool sequence_parallel = false;
  model::RecomputeGranularity recompute = model::RecomputeGranularity::kNone;
  int zero_stage = 0;
  std::optional<Precision> precision = {};           ///< only where precisions are searched
  bool short_gradients = false;                      ///< 16-bit gradients; only where gradients are searched
  std::optional<model::Dispatcher> dispatcher = {};  ///< only of models with experts
  Offloads offloads = {};                            ///< parts on the host; only where they are searched
  std::vector<int> layers_per_stage = {};            ///< empty: as stated, or dealt out evenly
};

/// The keys of Offloads, in its order.
inline constexpr std::array kOffloadKeys{job::Key::kOffloadOptimizer, job::Key::kOffloadParameters,
                                         job::Key::kOffloadActivations};

/// Returns the least ZeRO stage that a part on the host needs: the optimizer's states must be sharded, and parameters
/// stand elsewhere with ZeRO-3 only (the rules in sim/job/rules/offload.cpp).
[[nodiscard]] int least_zero_stage(const job::Offload& offload);

/// Returns the degrees by key, in the order of every list: {"tensor", 8}, ..., {"virtual_pipeline", 3}, {"data", 16},
/// and for models with experts {"expert", 8}, {"expert_tensor", 1}.
[[nodiscard]] std::vector<std::pair<std::string_view, int>> degrees_by_key(const Candidate& candidate);

/// The ways in which a search deals layers out to stages.
enum class Partition : std::uint8_t {
  kEven,       ///< as scenarios do
  kPipeDream,  ///< also so that the slowest stage is fastest (schedule::partition), where stages have one chunk
};

struct SpaceOptions {
  std::vector<int> gpus = {};               ///< cluster sizes; empty: the scenario's size
  std::vector<std::string> schedules = {};  ///< names of the catalogue that an open schedule may take
  bool cross_node_tensor = false;           ///< tries tensor and expert-tensor degrees that do not divide a node's
                                            ///< NVLink domain
  std::vector<job::Key> requested = {};     ///< choices of job::requested_keys() to search
  int stated_zero_stage = 0;                ///< stage that the scenario states though it is searched; 0: none
  Partition partition = Partition::kEven;
};

/// Returns the schedules of a search when scenario and options name none: those of Megatron, or with post-validation
/// those that split their backward passes.
[[nodiscard]] std::vector<std::string> default_schedules(const job::Question& question);

/// Returns true for an overlap that the runtime cannot switch, for a dispatcher where it states fewer than two, and for
/// choices about experts where the model is dense.
[[nodiscard]] bool has_no_choice(const model::Transformer& model, const job::Runtime& runtime, job::Key key);

/// The candidates of a search, enumerated once. Candidates with the same pipeline form a group: they differ only in
/// sequence parallelism, recomputation, shards and experts.
class Space {
 public:
  Space(const io::OpenScenario& question, SpaceOptions options);

  struct Group {
    std::size_t begin, end;  ///< of candidates()
  };
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  /// The question's own schedule, else those of the catalogue that the options name.
  [[nodiscard]] const std::vector<schedule::Schedule>& schedules() const { return schedules_; }
  [[nodiscard]] const io::OpenScenario& question() const { return *question_; }

  /// Returns the keys that the search chooses.
  [[nodiscard]] std::vector<job::Key> searched() const;

  /// Returns the overlaps that the candidate may have, with most switched on first. Overlaps without effect are off.
  [[nodiscard]] std::vector<job::Overlap> overlaps(const Candidate& candidate) const;
  /// Returns the edits that make the candidate from the question, with one of its overlaps.
  [[nodiscard]] job::Patch patch_of(const Candidate& candidate, const job::Overlap& overlap) const;

 private:
  /// Degrees of experts and their dispatcher.
  struct ExpertChoice {
    int expert = 1, expert_tensor = 1;
    std::optional<model::Dispatcher> dispatcher = {};
  };

  void add_cuts(int gpus);
  void add_pipelines(Candidate candidate);
  void add_encoder_stages(Candidate candidate, job::Parallelism shape);
  void add_batches(Candidate candidate, job::Parallelism shape);
  void add_micro_batches(Candidate candidate);
  [[nodiscard]] std::optional<int> group_for(int schedule, schedule::PipelineShape shape);
  void add_group(Candidate candidate);
  void add_executions(Candidate candidate);
  [[nodiscard]] std::vector<bool> sequence_parallel_choices(const Candidate& candidate) const;
  [[nodiscard]] std::vector<model::RecomputeGranularity> recompute_choices() const;
  [[nodiscard]] std::vector<int> zero_stage_choices(const Candidate& candidate) const;
  [[nodiscard]] std::vector<model::Dispatcher> dispatchers_of(int expert, int expert_tensor) const;
  [[nodiscard]] std::vector<ExpertChoice> expert_choices(const Candidate& candidate) const;
  [[nodiscard]] bool may_overlap_exchanges(const Candidate& candidate) const;
  [[nodiscard]] bool cuts_layer(Axis axis, std::int64_t degree) const;
  [[nodiscard]] std::vector<std::optional<Precision>> precision_choices() const;
  [[nodiscard]] std::vector<bool> short_gradient_choices(const Candidate& candidate) const;
  [[nodiscard]] std::vector<Offloads> offload_choices(const Candidate& candidate) const;
  [[nodiscard]] bool is_open(job::Key key) const { return open_[static_cast<std::size_t>(key)]; }
  [[nodiscard]] bool leaves_open(job::Key key) const;
  [[nodiscard]] bool deals_by_time(const Candidate& candidate) const;
  void deal_by_time();

  const io::OpenScenario* question_;
  SpaceOptions options_;
  std::array<bool, job::kChoiceKeys> open_{};  ///< keys that the search chooses
  std::vector<schedule::Schedule> schedules_;
  std::vector<Candidate> candidates_;
  std::vector<Group> groups_;
  std::map<std::tuple<int, int, int>, std::optional<int>> groups_that_work_;  ///< by schedule, stages, micro-batches
};

}  // namespace foretoken::search
