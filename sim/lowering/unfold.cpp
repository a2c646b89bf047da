// Every GPU of the job.
#include "sim/lowering/unfold.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::lowering {
namespace {

using des::StreamId;
using des::TaskId;
using des::TaskKind;

// Calls f(instance) for each instance of a spread, with a rank that takes part in it.
template <class F>
void for_each_instance(const Spread& spread, const StageRanks& ranks, F&& f) {
  const int data = spread.data ? ranks.data : 1, context = spread.context ? ranks.context : 1,
            tensor = spread.tensor ? ranks.tensor : 1;
  for (int d = 0; d < data; ++d)
    for (int c = 0; c < context; ++c)
      for (int t = 0; t < tensor; ++t) f(t + ranks.tensor * (c + ranks.context * d));
}

// The ranks that take part in the instance of `rank`: those that differ from it only in what the spread joins.
Spread joined(const Spread& spread) { return {!spread.data, !spread.context, !spread.tensor}; }

class Unfolder {
 public:
  Unfolder(const Workload& folded, const StageRanks& ranks) : folded_(folded.graph), meaning_(folded.meaning) {
    unfolded_.ranks = ranks;
    spread_tasks();
  }

  UnfoldedStep unfold() {
    for (std::size_t s = 0; s < folded_.streams() * static_cast<std::size_t>(unfolded_.ranks.count()); ++s)
      unfolded_.graph.add_stream();
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task) add_instances({task});
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task)
      folded_.for_each_dependent({task}, [&](TaskId after) { connect({task}, after); });
    return std::move(unfolded_);
  }

 private:
  // Counts first: a graph of millions of tasks grows once.
  void spread_tasks() {
    const StageRanks& ranks = unfolded_.ranks;
    std::size_t tasks = 0, dependencies = 0;
    unfolded_.tasks.reserve(folded_.tasks());
    for (const Meaning& meaning : meaning_) {
      const Spread spread = spread_of(meaning);
      unfolded_.tasks.push_back({static_cast<std::uint32_t>(tasks), spread});
      tasks += static_cast<std::size_t>(spread.instances(ranks));
    }
    for (std::uint32_t task = 0; task < folded_.tasks(); ++task)
      folded_.for_each_dependent({task}, [&](TaskId after) {
        dependencies +=
            static_cast<std::size_t>(either(unfolded_.tasks[task].spread, of(after).spread).instances(ranks));
      });
    unfolded_.graph.reserve(tasks, dependencies);
  }

  static Spread either(const Spread& a, const Spread& b) {
    return {a.data || b.data, a.context || b.context, a.tensor || b.tensor};
  }
  [[nodiscard]] const UnfoldedTask& of(TaskId folded) const { return unfolded_.tasks[folded.value]; }
  [[nodiscard]] StreamId stream_of(StreamId folded, int rank) const {
    return {folded.value * static_cast<std::uint32_t>(unfolded_.ranks.count()) + static_cast<std::uint32_t>(rank)};
  }

  void add_instances(TaskId task) {
    expects(folded_.kind(task) != TaskKind::kFlow, "a folded step has no flows");
    const Spread& spread = of(task).spread;
    for_each_instance(spread, unfolded_.ranks, [&](int rank) {
      members_.clear();
      for (const StreamId stream : folded_.members(task))
        for_each_instance(joined(spread), unfolded_.ranks,
                          [&](int offset) { members_.push_back(stream_of(stream, rank + offset)); });
      if (members_.empty())
        unfolded_.graph.add_delay(folded_.duration(task));
      else if (members_.size() == 1)
        unfolded_.graph.add_occupy(members_.front(), folded_.duration(task));
      else
        unfolded_.graph.add_rendezvous(members_, folded_.duration(task));
    });
  }

  void connect(TaskId before, TaskId after) {
    for_each_instance(either(of(before).spread, of(after).spread), unfolded_.ranks, [&](int rank) {
      unfolded_.graph.add_dependency(unfolded_.instance(before, rank), unfolded_.instance(after, rank));
    });
  }

  const des::TaskGraph& folded_;
  const std::vector<Meaning>& meaning_;
  UnfoldedStep unfolded_;
  std::vector<StreamId> members_;  // scratch
};

}  // namespace

int Spread::instance_of(int rank, const StageRanks& ranks) const {
  const int t = rank % ranks.tensor, c = rank / ranks.tensor % ranks.context, d = rank / (ranks.tensor * ranks.context);
  int instance = data ? d : 0;
  if (context) instance = instance * ranks.context + c;
  if (tensor) instance = instance * ranks.tensor + t;
  return instance;
}

Spread spread_of(const Meaning& meaning) {
  constexpr Spread kEveryRank{true, true, true};
  switch (meaning.kind) {
    case TaskMeaning::kForward:
    case TaskMeaning::kBackward:
      if (meaning.op == nullptr) return {.data = true, .context = false, .tensor = false};
      if (meaning.op->stream == OpStream::kTensorComm) return {.data = true, .context = true, .tensor = false};
      if (meaning.op->stream == OpStream::kContextComm) return {.data = true, .context = false, .tensor = true};
      return kEveryRank;
    case TaskMeaning::kGradReduce:
    case TaskMeaning::kParamGather:
      return {.data = false, .context = false, .tensor = true};
    case TaskMeaning::kNormReduce:
      return {.data = true, .context = true, .tensor = false};
    case TaskMeaning::kGradNorm:
      return {.data = false, .context = false, .tensor = false};
    case TaskMeaning::kHostIssue:
    case TaskMeaning::kSendForward:
    case TaskMeaning::kSendBackward:
    case TaskMeaning::kEmbeddingTie:
    case TaskMeaning::kOptimizer:
    case TaskMeaning::kStepOverhead:
      return kEveryRank;
  }
  contract_broken("every meaning has a spread", __FILE__, __LINE__);
}

UnfoldedStep unfold(const LoweredStep& step, const Scenario& scenario) {
  const StageRanks ranks{scenario.parallelism.tensor, scenario.parallelism.context, scenario.parallelism.data};
  return Unfolder(step.workload, ranks).unfold();
}

des::RunResult seen_by(int rank, const UnfoldedStep& unfolded, const des::RunResult& run) {
  des::RunResult seen;
  seen.makespan = run.makespan;
  seen.start.reserve(unfolded.tasks.size());
  seen.end.reserve(unfolded.tasks.size());
  for (std::uint32_t task = 0; task < unfolded.tasks.size(); ++task) {
    const std::uint32_t instance = unfolded.instance({task}, rank).value;
    seen.start.push_back(run.start[instance]);
    seen.end.push_back(run.end[instance]);
  }
  return seen;
}

int last_rank(const UnfoldedStep& unfolded, const des::RunResult& run) {
  int last = 0;
  des::Instant latest;
  for (int rank = 0; rank < unfolded.ranks.count(); ++rank) {
    des::Instant end;
    for (std::uint32_t task = 0; task < unfolded.tasks.size(); ++task)
      end = std::max(end, run.end[unfolded.instance({task}, rank).value]);
    if (end > latest) {
      latest = end;
      last = rank;
    }
  }
  return last;
}

}  // namespace foretoken::lowering
