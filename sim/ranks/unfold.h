// Unfolds a step: a folded step, where one GPU stands for all that do the same, becomes a graph of every GPU of the
// job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/base/large_vector.h"
#include "sim/des/engine.h"
#include "sim/ranks/stage_ranks.h"
#include "sim/ranks/wires.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {

/// Returns the axes of a stage whose ranks carry a task out together: the axes that its communication joins. For a pass
/// these are all axes inside a replica, because its ranks wait for one another in every layer. With experts they are
/// also the axes over which the pass exchanges tokens.
[[nodiscard]] AxisSet together(const step::Meaning& meaning, const step::LoweredStep& step);

/// One task of the folded step in the unfolded graph. Its instances begin at `first` of UnfoldedStep's table.
struct UnfoldedTask {
  std::uint32_t first = 0;
  AxisSet together;
};

/// The tasks of one instance: a single task, or flows between a task that starts them and one that ends them.
struct Instance {
  des::TaskId begin, end;
};

/// The origin of a task of the unfolded graph.
struct Origin {
  std::uint32_t instance = 0;  ///< place among UnfoldedStep's instances
  des::TaskId folded;          ///< the task of the folded step that it is an instance of
};

/// The stage ranks whose GPUs stand beside a link, in the order of their ranks.
using RanksBeside = ByLink<StageRank>;

/// The way in which messages and collectives move: as one cost each, or as flows that share links.
enum class Traffic : std::uint8_t { kAnalytic, kFlows };

/// A step with every GPU of the job.
struct UnfoldedStep {
  des::TaskGraph graph;
  std::vector<UnfoldedTask> tasks;           ///< by task of the folded step
  LargeVector<Instance> instances;           ///< empty where each is one task: instance i is then task i
  std::vector<std::optional<Rank>> slowest;  ///< by instance: the rank that it waits for, if any; empty on equal GPUs
  /// By instance: the expert group that it waits for, as its place among the scenario's imbalanced experts. Empty where
  /// all expert groups are alike.
  std::vector<std::optional<std::size_t>> hottest;
  /// By instance: time that slow GPUs and imbalanced experts add to it. Empty where there are none.
  std::vector<des::Duration> stretch;
  LinkParts link_parts;                 ///< by link of the graph
  RanksBeside beside;                   ///< by link of the graph: for links with parts
  std::vector<std::uint32_t> link_ids;  ///< by link of the graph: its id in the cluster's fabric
  StageRanks ranks;

  /// Returns the place of the instance that stage rank `rank` takes part in.
  [[nodiscard]] std::uint32_t instance_at(des::TaskId folded, StageRank rank) const {
    const UnfoldedTask& task = tasks[folded.value];
    return task.first + ranks.teams(task.together).of(rank).value;
  }
  [[nodiscard]] Instance instance(des::TaskId folded, StageRank rank) const {
    const std::uint32_t at = instance_at(folded, rank);
    return instances.empty() ? Instance{{at}, {at}} : instances[at];
  }
  /// Returns the instance that a task of the graph belongs to.
  [[nodiscard]] Origin origin_of(des::TaskId task) const;
  /// Returns the stage ranks that carry an instance out, in order.
  [[nodiscard]] std::vector<StageRank> members_of(const Origin& origin) const;
};

/// Puts every rank in the place of the one that stood for all.
///
/// A task of the folded step becomes one for each group of ranks that carry it out together. A pass becomes one per
/// replica, a message one per rank, a gradient reduction one over all replicas for each tensor rank, and so on. A pass
/// with experts becomes one for all replicas that exchange tokens. Two tasks that depend on each other do so wherever
/// they have a rank in common.
///
/// With equal GPUs and analytic traffic the run equals the folded one, tick for tick. Slow GPUs lengthen their
/// computing, and with it the time of ranks that share their layers. Slow NICs show only in flows.
[[nodiscard]] UnfoldedStep unfold(const step::LoweredStep& step, const job::Job& job, Traffic traffic);

/// Returns the unfolded run of stage rank `rank` in the numbering of the folded step, as observers and reports expect
/// it. The makespan stays that of the whole job.
[[nodiscard]] des::RunResult seen_by(StageRank rank, const UnfoldedStep& unfolded, const des::RunResult& run);

/// Returns UnfoldedStep::stretch for stage rank `rank`, by task of the folded step.
[[nodiscard]] std::vector<des::Duration> stretch_seen_by(StageRank rank, const UnfoldedStep& unfolded);

/// Returns the stage rank whose own work ends last; on a tie the one that is busy longest without other replicas, and
/// then the lowest.
[[nodiscard]] StageRank last_rank(const UnfoldedStep& unfolded, const des::RunResult& run);

}  // namespace foretoken::ranks
