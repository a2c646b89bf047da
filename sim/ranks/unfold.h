// Every GPU of the job: a folded step, where one GPU stands for all that do the same, becomes a graph of them all.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/des/engine.h"
#include "sim/ranks/stage_ranks.h"
#include "sim/ranks/wires.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {

/// The axes of a stage whose ranks carry a task out together: those that its communication joins, or all that a pass
/// has in common. A pass is one task of a whole replica: its ranks wait for one another in every layer.
[[nodiscard]] AxisSet together(const step::Meaning& meaning, const step::Workload& workload);

/// One task of the folded step as it stands in the unfolded graph: its instances begin at `first` of UnfoldedStep's
/// table.
struct UnfoldedTask {
  std::uint32_t first = 0;
  AxisSet together;
};

/// What one instance consists of: a single task, or flows between a task that starts them and one that ends them.
struct Instance {
  des::TaskId begin, end;
};

/// Where a task of the unfolded graph comes from.
struct Origin {
  std::uint32_t instance = 0;  ///< place among UnfoldedStep's instances
  des::TaskId folded;          ///< the task of the folded step that it is an instance of
};

/// By link: the stage ranks whose GPUs stand beside it.
using RanksBeside = std::map<std::uint32_t, std::vector<int>>;

/// How messages and collectives move: as one cost each, or as flows that share links.
enum class Traffic : std::uint8_t { kAnalytic, kFlows };

/// A step with every GPU of the job.
struct UnfoldedStep {
  des::TaskGraph graph;
  std::vector<UnfoldedTask> tasks;  ///< by task of the folded step
  std::vector<Instance> instances;
  std::vector<int> slowest;             ///< by instance: the rank that it waits for, -1: none; empty on even GPUs
  std::vector<des::Duration> stretch;   ///< by instance: how much longer slow GPUs make it; empty on even GPUs
  LinkParts link_parts;                 ///< by link of the graph
  RanksBeside beside;                   ///< by link of the graph: of those with parts
  std::vector<std::uint32_t> link_ids;  ///< by link of the graph: its id in the cluster's fabric
  StageRanks ranks;

  /// The instance that stage rank `rank` takes part in: its place, and what it consists of.
  [[nodiscard]] std::uint32_t instance_at(des::TaskId folded, int rank) const {
    const UnfoldedTask& task = tasks[folded.value];
    return task.first + static_cast<std::uint32_t>(ranks.teams(task.together).of(rank));
  }
  [[nodiscard]] const Instance& instance(des::TaskId folded, int rank) const {
    return instances[instance_at(folded, rank)];
  }
  /// The instance that a task of the graph is part of.
  [[nodiscard]] Origin origin_of(des::TaskId task) const;
  /// The stage ranks that carry an instance out, in order.
  [[nodiscard]] std::vector<int> members_of(const Origin& origin) const;
};

/// Puts every rank in place of the one that stood for all.
///
/// A task of the folded step becomes one for each group of ranks that carry it out together: a pass one per replica, a
/// message one per rank, a gradient reduction one over all replicas for each tensor rank, and so on. Two tasks that
/// depend on each other do so wherever they have a rank in common. With equal GPUs and analytic traffic the run is then
/// the folded one, tick for tick. Slow GPUs lengthen what they compute, and with it what the ranks that
/// share their layers wait for; slow NICs show only in flows.
[[nodiscard]] UnfoldedStep unfold(const step::LoweredStep& step, const job::Job& job, Traffic traffic);

/// The unfolded run as stage rank `rank` saw it, in the numbering of the folded step: what observers and reports
/// expect. The makespan stays that of the whole job.
[[nodiscard]] des::RunResult seen_by(int rank, const UnfoldedStep& unfolded, const des::RunResult& run);

/// By task of the folded step, how much longer slow GPUs make it for stage rank `rank`; empty on even GPUs.
[[nodiscard]] std::vector<des::Duration> stretch_seen_by(int rank, const UnfoldedStep& unfolded);

/// The stage rank whose own work ends last, the lowest on a tie.
[[nodiscard]] int last_rank(const UnfoldedStep& unfolded, const des::RunResult& run);

}  // namespace foretoken::ranks
