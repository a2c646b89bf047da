// The discrete-event loop: take every completion of an instant, then start every task that they allow.
#include "sim/des/engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/check.h"
#include "sim/des/deadlock.h"
#include "sim/des/event_queue.h"
#include "sim/des/flows/flow_network.h"

namespace foretoken::des {
namespace {

Instant end_without_flow(const TaskGraph& graph, TaskId task, Instant start) {
  return start == kNever ? kNever : start + graph.duration(task);
}

/// One run. Features that a graph or a caller does not use (flows, observers) cost the loop nothing.
template <bool kFlows, bool kObserved>
class Run {
 public:
  Run(const TaskGraph& graph, std::span<Observer* const> observers, Kept kept, const Watch& watch)
      : graph_(graph),
        observers_(observers),
        kept_(kept),
        watch_(watch),
        waiting_(graph.in_degrees()),
        network_(graph, kObserved) {
    watch.show(0, graph.tasks());
    if (watch.progress) show_at_ = 0;
    result_.start.assign(graph.tasks(), kNever);
    if (kFlows) result_.end.assign(graph.tasks(), kNever);
  }

  RunResult to_the_end() && {
    for (std::uint32_t task = 0; task < graph_.tasks(); ++task) {
      if (waiting_.bytes()[task] == 0) ready_.push_back({task});
    }
    start_ready();
    while (!queue_.empty()) {
      ended_.clear();
      queue_.pop_instant(ended_);
      if constexpr (kFlows) keep_arrived();
      end_all();
      show_progress();
      start_ready();
      if constexpr (kFlows) share_links();
    }
    write_result();
    return std::move(result_);
  }

 private:
  void show_progress() {
    constexpr std::size_t kTimes = 1000;
    done_ += ended_.size();
    if (done_ < show_at_) return;
    watch_.show(done_, graph_.tasks());
    show_at_ = done_ + graph_.tasks() / kTimes + 1;
  }

  void end_all() {
    if (!ended_.empty()) result_.makespan = queue_.now();
    for (const TaskId task : ended_) {
      if constexpr (kObserved) {
        for (Observer* observer : observers_) observer->on_end(task, queue_.now());
      }
      graph_.for_each_successor(task, [this](TaskId after) {
        if (waiting_.count_down(after.value)) ready_.push_back(after);
      });
    }
  }

  void start_ready() {
    const Instant now = queue_.now();
    for (const TaskId task : ready_) {
      result_.start[task.value] = now;
      queue_.push(later(now, graph_.duration(task)), task);
      graph_.prefetch_successors(task, waiting_, result_.start.data());
      if constexpr (kObserved) {
        for (Observer* observer : observers_) observer->on_start(task, now);
      }
    }
    ready_.clear();
  }

  /// Of the events of flows, only arrivals are completions.
  void keep_arrived() {
    std::erase_if(ended_, [this](TaskId task) {
      if (graph_.kind(task) != TaskKind::kFlow) return false;
      if (!network_.on_event(task, queue_.now())) return true;
      result_.end[task.value] = queue_.now();
      return false;
    });
  }

  void share_links() {
    if (queue_.more_now()) return;  // the instant is not over
    for (const auto& [task, at] : network_.settle(queue_.now())) queue_.push(at, task);
    if constexpr (kObserved) {
      for (const auto& [task, rate] : network_.rates())
        for (Observer* observer : observers_) observer->on_rate(task, rate, queue_.now());
    }
  }

  void write_result() {
    if (kFlows || kept_ == Kept::kStartsAndEnds) write_ends();
    if (std::ranges::find(result_.start, kNever) != result_.start.end())
      result_.stuck = find_stuck(graph_, result_.start);
  }

  void write_ends() {
    if (!kFlows) result_.end.reserve(graph_.tasks());
    for (std::uint32_t task = 0; task < graph_.tasks(); ++task) {
      const Instant end = end_without_flow(graph_, {task}, result_.start[task]);
      if constexpr (!kFlows) {
        result_.end.push_back(end);
      } else if (graph_.kind({task}) != TaskKind::kFlow) {
        result_.end[task] = end;
      }
    }
  }

  const TaskGraph& graph_;
  std::span<Observer* const> observers_;
  Kept kept_;
  const Watch& watch_;
  std::size_t done_ = 0, show_at_ = std::numeric_limits<std::size_t>::max();  // tasks that have ended
  EdgeCounts waiting_;                                                        // edges from tasks that have not ended
  FlowNetwork network_;
  EventQueue queue_;
  std::vector<TaskId> ended_, ready_;
  RunResult result_;
};

}  // namespace

RunResult run(const TaskGraph& graph, std::span<Observer* const> observers, Kept kept, const Watch& watch) {
  const bool flows = !graph.flows().empty();
  if (flows && !observers.empty()) return Run<true, true>(graph, observers, kept, watch).to_the_end();
  if (flows) return Run<true, false>(graph, observers, kept, watch).to_the_end();
  if (!observers.empty()) return Run<false, true>(graph, observers, kept, watch).to_the_end();
  return Run<false, false>(graph, observers, kept, watch).to_the_end();
}

Instant end_of(TaskId task, const TaskGraph& graph, const RunResult& run) {
  return run.end.empty() ? end_without_flow(graph, task, run.start[task.value]) : run.end[task.value];
}

}  // namespace foretoken::des
