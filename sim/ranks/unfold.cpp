// Unfolds a step to every GPU of the job.
#include "sim/ranks/unfold.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/process/memory_limit.h"
#include "sim/ranks/imbalances.h"
#include "sim/ranks/speeds.h"
#include "sim/ranks/transfers.h"

namespace foretoken::ranks {
namespace {

using des::Duration;
using des::StreamId;
using des::TaskId;
using des::TaskKind;

// Estimates the memory of a graph and its run. Refuses more than there is, and more than kMost or kMostWithFlows.
class MemoryBudget {
 public:
  explicit MemoryBudget(const job::Job& job)
      : gpus_(job.gpus), instead_(job.imperfections.uneven_links() ? "" : ", --collectives analytic") {}

  void add_tasks(std::size_t tasks) {
    bytes_ += kTask * static_cast<double>(tasks);
    check(bytes_, kMost, "");
  }
  /// Refuses `flows` if they alone are too many. Counts nothing.
  void check_flows(std::size_t flows) const {
    check(bytes_ + (kTask + kFlow + kCrossing) * static_cast<double>(flows), kMostWithFlows, instead_);
  }
  void add_flows(std::span<const Transfer> transfers, std::size_t times) {
    double bytes = 0;
    for (const Transfer& transfer : transfers)
      for (const Leg& leg : *transfer.legs) bytes += kTask + kFlow + kCrossing * static_cast<double>(leg.route.size());
    bytes_ += static_cast<double>(times) * bytes;
    check(bytes_, kMostWithFlows, instead_);
  }

 private:
  // Bytes. A task: the whole process on Llama 3 405B over 16,384 GPUs takes 305 MB for 4.4 million
  // (docs/contributor/performance.md), and tasks whose streams do not follow one another need tables besides. A flow:
  // 40 of des::Flow, as many of FlowNetwork's state, and an allocation. A crossing stands in the route and at the link.
  static constexpr double kTask = 100, kFlow = 100, kCrossing = 8;
  static constexpr double kMost = 16e9;          // a workstation's memory
  static constexpr double kMostWithFlows = 4e9;  // some 17 million flows, which run for a minute or more

  void check(double bytes, double limit, const char* instead) const {
    const double most = std::min(limit, limit_);
    if (bytes <= most) return;
    throw ConfigError(
        {{"", "/gpus",
          fmt::format("all {} GPUs together would take more than {:.3g} GB of memory; try a folded run (no "
                      "--unfolded, imperfections or stragglers){}, or fewer GPUs",
                      gpus_, most / 1e9, instead)}});
  }

  int gpus_;
  const char* instead_;  // slow links and NICs slow flows alone, so they need them
  double bytes_ = 0, limit_ = memory_limit();
};

class Unfolder {
 public:
  Unfolder(const step::LoweredStep& step, const job::Job& job, Traffic traffic)
      : step_(step),
        job_(job),
        folded_(step.workload.graph),
        meaning_(step.workload.meaning),
        ranks_(unfolded_.ranks),
        speeds_(job),
        imbalances_(step, job),
        budget_(job) {
    unfolded_.ranks = StageRanks(job.grid());
    const auto [tasks, dependencies] = count_instances();
    if (traffic == Traffic::kFlows) {
      budget_.check_flows(least_flows());
      flows_.emplace(job, step.workload, unfolded_.graph);
      count_flows();
    }
    unfolded_.graph.reserve(tasks, dependencies);
    if (flows_) unfolded_.instances.reserve(tasks);
  }

  UnfoldedStep unfold() {
    for (std::size_t s = 0; s < folded_.streams() * static_cast<std::size_t>(ranks_.count()); ++s)
      unfolded_.graph.add_stream();
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task) add_instances({task});
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task)
      folded_.for_each_dependent({task}, [&](TaskId after) { connect({task}, after); });
    if (flows_) tell_links();
    return std::move(unfolded_);
  }

 private:
  // Counts instances and dependencies of all tasks first, so that a graph of millions of tasks grows once.
  std::pair<std::size_t, std::size_t> count_instances() {
    std::size_t tasks = 0, dependencies = 0;
    unfolded_.tasks.reserve(folded_.tasks());
    for (const step::Meaning& meaning : meaning_) {
      const AxisSet axes = together(meaning, step_);
      unfolded_.tasks.push_back({static_cast<std::uint32_t>(tasks), axes});
      tasks += ranks_.teams(axes).count();
    }
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task)
      folded_.for_each_dependent({task}, [&](TaskId after) { dependencies += both({task}, after).count(); });
    budget_.add_tasks(tasks);
    return {tasks, dependencies};
  }

  // Counts one flow for each instance that moves bytes. So jobs far beyond memory are refused before any route is laid.
  [[nodiscard]] std::size_t least_flows() {
    std::size_t flows = 0;
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task) {
      const Teams& teams = teams_of({task});
      const std::size_t members = teams.members(*teams.all().begin()).size();
      if (Transfers::moves(meaning_[task], step_.workload, *step_.passes, members)) flows += teams.count();
    }
    return flows;
  }

  // Counts the flows of all tasks before any is built. Tasks of one kind, stage, length and payload move the same.
  void count_flows() {
    using Sort = std::tuple<step::TaskMeaning, Stage, Chunk, schedule::OpKind, const step::TimedOp*, std::int64_t,
                            std::optional<step::CommunicationId>>;
    std::map<Sort, std::size_t> place;
    std::vector<std::pair<TaskId, std::size_t>> kinds;  // the first task of its kind, and the number of such tasks
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task) {
      const step::Meaning& m = meaning_[task];
      const auto [at, is_new] = place.try_emplace(
          {m.kind, m.stage, m.chunk, m.pass, m.op, folded_.duration({task}).ps, m.communication}, kinds.size());
      if (is_new) kinds.push_back({{task}, 0});
      ++kinds[at->second].second;
    }
    for (const auto& [task, times] : kinds)
      for (const Team team : teams_of(task).all()) {
        const Duration duration = folded_.duration(task);
        budget_.add_flows(
            flows_->transfers_of(meaning_[task.value], duration, duration, *step_.passes, teams_of(task).members(team)),
            times);
      }
  }

  [[nodiscard]] const Teams& teams_of(TaskId folded) const {
    return ranks_.teams(unfolded_.tasks[folded.value].together);
  }
  // Returns the ranks that carry out both tasks together. One dependency stands for all of them.
  [[nodiscard]] const Teams& both(TaskId before, TaskId after) {
    const AxisSet a = unfolded_.tasks[before.value].together, b = unfolded_.tasks[after.value].together;
    const bool one_grid = net::kStageAxes.contains(a | b) || net::kExpertStageAxes.contains(a | b);
    if (one_grid || a.contains(b) || b.contains(a)) return ranks_.teams(a & b);
    const auto [found, is_new] = both_.try_emplace({a, b});
    if (is_new) found->second = in_common(ranks_.teams(a), ranks_.teams(b));
    return found->second;
  }
  [[nodiscard]] StreamId stream_of(StreamId folded, StageRank rank) const {
    return {folded.value * static_cast<std::uint32_t>(ranks_.count()) + rank.value};
  }

  // The time of an instance: that of its slowest ranks, in the step with the imbalance of their experts.
  struct Timed {
    const step::LoweredStep* lowered;
    Paced paced;
    std::optional<std::size_t> group{};  // the expert group that it waits for, as in UnfoldedStep::hottest
  };
  [[nodiscard]] Timed timed(TaskId task, std::span<const StageRank> members) const {
    const auto on = [&](const step::LoweredStep& lowered, std::span<const StageRank> ranks) {
      const step::Workload& workload = lowered.workload;
      return speeds_.paced(workload.graph.duration(task), workload.meaning[task.value], *lowered.passes, ranks);
    };
    const step::Meaning& meaning = meaning_[task.value];
    if (!imbalances_.concern(meaning)) return {&step_, on(step_, members)};
    std::optional<Timed> longest;
    for (const Imbalances::Part& part : imbalances_.parts_of(meaning.stage, members)) {
      const Paced paced = on(*part.step, part.members);
      if (longest && paced.duration <= longest->paced.duration) continue;
      const bool waits = part.step->workload.graph.duration(task) > folded_.duration(task);
      longest = Timed{part.step, paced, waits ? part.group : std::nullopt};
    }
    return *longest;
  }

  void add_instances(TaskId task) {
    expects(folded_.kind(task) != TaskKind::kFlow, "a folded step has no flows");
    const Teams& teams = teams_of(task);
    for (const Team team : teams.all()) {
      const std::span<const StageRank> members = teams.members(team);
      streams_.clear();
      for (const StreamId stream : folded_.members(task))
        for (const StageRank member : members) streams_.push_back(stream_of(stream, member));
      const auto [lowered, paced, group] = timed(task, members);
      if (speeds_.uneven()) unfolded_.slowest.push_back(paced.rank);
      if (imbalances_.any()) unfolded_.hottest.push_back(group);
      if (speeds_.uneven() || imbalances_.any()) unfolded_.stretch.push_back(paced.duration - folded_.duration(task));
      if (!flows_) {
        hold(paced.duration);
        continue;
      }
      const std::span<const Transfer> transfers =
          flows_->transfers_of(lowered->workload.meaning[task.value], lowered->workload.graph.duration(task),
                               paced.duration, *lowered->passes, members);
      unfolded_.instances.push_back(transfers.empty() ? hold(paced.duration) : move(transfers));
    }
  }

  // Adds a task of `duration` on streams_.
  Instance hold(Duration duration) {
    des::TaskGraph& graph = unfolded_.graph;
    const TaskId task = streams_.empty()       ? graph.add_delay(duration)
                        : streams_.size() == 1 ? graph.add_occupy(streams_.front(), duration)
                                               : graph.add_rendezvous(streams_, duration);
    return {task, task};
  }

  // Adds transfers one after another on streams_. They start once all streams have arrived.
  Instance move(std::span<const Transfer> transfers) {
    des::TaskGraph& graph = unfolded_.graph;
    const Transfer& first = transfers.front();
    if (transfers.size() == 1 && first.legs->size() == 1) {
      const Leg& leg = first.legs->front();
      const TaskId task = graph.add_flow(streams_, leg.bytes, leg.route, first.before);
      return {task, task};
    }
    Instance whole = hold(first.before);
    for (const Transfer& transfer : transfers) {
      if (&transfer != &first && transfer.before.ps > 0) {
        const TaskId latency = hold(transfer.before).end;
        graph.add_dependency(whole.end, latency);
        whole.end = latency;
      }
      const TaskId end = hold({}).begin;
      for (const Leg& leg : *transfer.legs) {
        const TaskId flow = graph.add_flow({}, leg.bytes, leg.route, {});
        graph.add_dependency(whole.end, flow);
        graph.add_dependency(flow, end);
      }
      whole.end = end;
    }
    return whole;
  }

  void tell_links() {
    unfolded_.link_parts = flows_->link_parts();
    unfolded_.link_ids = flows_->link_ids();
    std::vector<std::optional<Rank>> rank_on;  // by GPU
    for (const Rank rank : ids<Rank>(job_.gpus)) {
      const std::size_t gpu = job_.imperfections.gpu_of(rank).index();
      if (gpu >= rank_on.size()) rank_on.resize(gpu + 1);
      rank_on[gpu] = rank;
    }
    std::vector<Rank> beside;
    unfolded_.link_parts.for_each([&](std::uint32_t link, std::span<const int>) {
      beside.clear();
      for (const Gpu gpu : flows_->gpus_beside(link))
        if (gpu.index() < rank_on.size() && rank_on[gpu.index()]) beside.push_back(*rank_on[gpu.index()]);
      std::sort(beside.begin(), beside.end());
      for (const Rank rank : beside) unfolded_.beside.add(link, ranks_.of(rank));
    });
  }

  void connect(TaskId before, TaskId after) {
    const Teams& teams = both(before, after);
    for (const Team team : teams.all()) {
      const StageRank rank = teams.members(team).front();
      unfolded_.graph.add_dependency(unfolded_.instance(before, rank).end, unfolded_.instance(after, rank).begin);
    }
  }

  const step::LoweredStep& step_;
  const job::Job& job_;
  const des::TaskGraph& folded_;
  const std::vector<step::Meaning>& meaning_;
  const StageRanks& ranks_;  // of unfolded_
  Speeds speeds_;
  Imbalances imbalances_;
  MemoryBudget budget_;
  std::optional<Transfers> flows_;
  UnfoldedStep unfolded_;
  std::map<std::pair<AxisSet, AxisSet>, Teams> both_;  // where only the ranks themselves show what two tasks share
  std::vector<StreamId> streams_;                      // scratch: streams of one instance
};

/// The work of a rank. Ranks whose work ends later come after others, and then those that are busy longer without
/// other replicas: all may end with a collective over all replicas, for which a fast rank waits.
struct Work {
  des::Instant end;
  double busy_ps = 0;  // not a Duration: a sum over streams may be longer than the longest step
  friend auto operator<=>(const Work&, const Work&) = default;
};

Work work_of(StageRank rank, const UnfoldedStep& unfolded, const des::RunResult& run) {
  Work work;
  for (std::uint32_t task = 0; task < unfolded.tasks.size(); ++task) {
    const Instance instance = unfolded.instance({task}, rank);
    const des::Instant end = des::end_of(instance.end, unfolded.graph, run);
    work.end = std::max(work.end, end);
    const AxisSet together = unfolded.tasks[task].together;
    if (!together.contains(Axis::kData) && !together.contains(Axis::kExpertData))
      work.busy_ps += static_cast<double>((end - run.start[instance.begin.value]).ps);
  }
  return work;
}

}  // namespace

Origin UnfoldedStep::origin_of(des::TaskId task) const {
  std::uint32_t instance = task.value;
  if (!instances.empty()) {
    // Tasks of an instance have the numbers from its first task up to the next instance's.
    const auto after = std::upper_bound(instances.begin(), instances.end(), task,
                                        [](TaskId wanted, const Instance& each) { return wanted < each.begin; });
    instance = static_cast<std::uint32_t>(after - instances.begin() - 1);
  }
  const auto later =
      std::upper_bound(tasks.begin(), tasks.end(), instance,
                       [](std::uint32_t wanted, const UnfoldedTask& each) { return wanted < each.first; });
  return {instance, {static_cast<std::uint32_t>(later - tasks.begin() - 1)}};
}

std::vector<StageRank> UnfoldedStep::members_of(const Origin& origin) const {
  const UnfoldedTask& task = tasks[origin.folded.value];
  const auto members = ranks.teams(task.together).members(Team{origin.instance - task.first});
  return {members.begin(), members.end()};
}

AxisSet together(const step::Meaning& meaning, const step::LoweredStep& step) {
  if (const step::Communication* row = step.workload.communication_of(meaning))
    return row->axes & (net::kStageAxes | net::kExpertStageAxes);
  if (meaning.kind == step::TaskMeaning::kPassOverhead) return net::kLayerAxes;
  if (meaning.kind != step::TaskMeaning::kPass || meaning.op != nullptr) return {};
  return net::kLayerAxes |
         (step.passes->timing(meaning.stage, meaning.chunk, meaning.pass).axes & net::kExpertLayerAxes);
}

UnfoldedStep unfold(const step::LoweredStep& step, const job::Job& job, Traffic traffic) {
  return Unfolder(step, job, traffic).unfold();
}

des::RunResult seen_by(StageRank rank, const UnfoldedStep& unfolded, const des::RunResult& run) {
  des::RunResult seen;
  seen.makespan = run.makespan;
  seen.start.reserve(unfolded.tasks.size());
  seen.end.reserve(unfolded.tasks.size());
  for (std::uint32_t task = 0; task < unfolded.tasks.size(); ++task) {
    const Instance instance = unfolded.instance({task}, rank);
    seen.start.push_back(run.start[instance.begin.value]);
    seen.end.push_back(des::end_of(instance.end, unfolded.graph, run));
  }
  return seen;
}

std::vector<Duration> stretch_seen_by(StageRank rank, const UnfoldedStep& unfolded) {
  std::vector<Duration> stretch;
  if (unfolded.stretch.empty()) return stretch;
  for (std::uint32_t task = 0; task < unfolded.tasks.size(); ++task)
    stretch.push_back(unfolded.stretch[unfolded.instance_at({task}, rank)]);
  return stretch;
}

StageRank last_rank(const UnfoldedStep& unfolded, const des::RunResult& run) {
  StageRank last;
  Work most;
  for (const StageRank rank : unfolded.ranks.all()) {
    const Work work = work_of(rank, unfolded, run);
    if (work <= most) continue;
    most = work;
    last = rank;
  }
  return last;
}

}  // namespace foretoken::ranks
