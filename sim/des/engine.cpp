// The discrete-event loop: take every completion of an instant, then start every task that they allow.
#include "sim/des/engine.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/des/deadlock.h"
#include "sim/des/event_queue.h"
#include "sim/des/flow_network.h"

namespace foretoken::des {
namespace {

/// One run. What a graph or a caller does not use (flows, observers) costs the loop nothing.
template <bool kFlows, bool kObserved>
class Run {
 public:
  Run(const TaskGraph& graph, std::span<Observer* const> observers)
      : graph_(graph), observers_(observers), network_(graph) {
    states_.reserve(graph.tasks());
    for (std::uint32_t task = 0; task < graph.tasks(); ++task)
      states_.push_back({graph.duration({task}).ps, graph.in_degree({task})});
    if (kFlows) result_.end.assign(graph.tasks(), kNever);
  }

  RunResult to_the_end() && {
    for (std::uint32_t task = 0; task < states_.size(); ++task) {
      if (states_[task].waiting == 0) ready_.push_back({task});
    }
    start_ready();
    while (!queue_.empty()) {
      ended_.clear();
      queue_.pop_instant(ended_);
      if constexpr (kFlows) keep_arrived();
      end_all();
      start_ready();
      if constexpr (kFlows) share_links();
    }
    write_result();
    return std::move(result_);
  }

 private:
  /// All that starting a task and counting down to it touch, side by side: memory is what limits large graphs.
  struct State {
    std::int64_t ps;        // its duration; once it has started, the instant it did
    std::uint32_t waiting;  // edges from tasks that have not ended; zero when it has started
  };

  void end_all() {
    if (!ended_.empty()) result_.makespan = queue_.now();
    for (const TaskId task : ended_) {
      if constexpr (kObserved) {
        for (Observer* observer : observers_) observer->on_end(task, queue_.now());
      }
      graph_.for_each_successor(task, [this](TaskId after) {
        if (--states_[after.value].waiting == 0) ready_.push_back(after);
        graph_.prefetch(after);
      });
    }
  }

  void start_ready() {
    const Instant now = queue_.now();
    for (const TaskId task : ready_) {
      State& state = states_[task.value];
      queue_.push(later(now, {state.ps}), task);
      state.ps = now.ps;
      graph_.prefetch_successors(task, states_.data());
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
  }

  void write_result() {
    result_.start.reserve(states_.size());
    if (!kFlows) result_.end.reserve(states_.size());
    bool stuck = false;
    for (std::uint32_t task = 0; task < states_.size(); ++task) {
      const bool started = states_[task].waiting == 0;
      stuck |= !started;
      const Instant start = started ? Instant{states_[task].ps} : kNever;
      const Instant end = started ? start + graph_.duration({task}) : kNever;
      result_.start.push_back(start);
      if constexpr (!kFlows) {
        result_.end.push_back(end);
      } else if (graph_.kind({task}) != TaskKind::kFlow) {
        result_.end[task] = end;
      }
    }
    if (stuck) result_.stuck = find_stuck(graph_, result_.start);
  }

  const TaskGraph& graph_;
  std::span<Observer* const> observers_;
  std::vector<State> states_;
  FlowNetwork network_;
  EventQueue queue_;
  std::vector<TaskId> ended_, ready_;
  RunResult result_;
};

}  // namespace

RunResult run(const TaskGraph& graph, std::span<Observer* const> observers) {
  const bool flows = !graph.flows().empty();
  if (flows && !observers.empty()) return Run<true, true>(graph, observers).to_the_end();
  if (flows) return Run<true, false>(graph, observers).to_the_end();
  if (!observers.empty()) return Run<false, true>(graph, observers).to_the_end();
  return Run<false, false>(graph, observers).to_the_end();
}

}  // namespace foretoken::des
