// Work as the engine sees it: streams that run tasks in order, and tasks that wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/large_vector.h"
#include "sim/des/time.h"

namespace foretoken::des {

using StreamId = Id<struct StreamTag>;
using TaskId = Id<struct TaskTag>;
using LinkId = Id<struct LinkTag>;

enum class TaskKind : std::uint8_t { kOccupy, kRendezvous, kFlow };

/// The load of a flow. Its latency is the task's duration.
struct Flow {
  TaskId task;
  Bytes bytes;
  std::vector<LinkId> route;
};

/// A graph of tasks on streams. A stream runs its tasks in the order in which they were added to it. A task starts when
/// it is at the head of all its streams and every task it depends on has ended.
///
/// A task is at the head of a stream when the task before it has ended, so a stream is a chain of edges like any other.
/// The graph links them while it is built: a run needs neither sorting nor stream state.
class TaskGraph {
 public:
  StreamId add_stream();
  /// A link with a capacity in bytes per second (> 0), shared by flows.
  LinkId add_link(BytesPerSecond capacity);

  /// Adds a task that holds its stream for a duration (>= 0).
  TaskId add_occupy(StreamId stream, Duration duration);
  /// Adds a task without a stream. It passes time once its dependencies have ended, and blocks nobody.
  TaskId add_delay(Duration duration);
  /// Adds a task on several distinct streams. It starts when all of them have reached it, and holds them all.
  TaskId add_rendezvous(std::span<const StreamId> members, Duration duration);
  /// Adds a flow: bytes over a route, at the rate that max-min fair sharing grants, after a latency. It holds `members`
  /// (may be empty) from the start to the last byte. With an empty route only the latency passes.
  TaskId add_flow(std::span<const StreamId> members, Bytes bytes, std::span<const LinkId> route, Duration latency);

  /// Makes `after` start only once `before` has ended.
  void add_dependency(TaskId before, TaskId after);
  void reserve(std::size_t tasks, std::size_t dependencies);
  void reserve_streams(std::size_t streams) { tail_.reserve(streams); }

  [[nodiscard]] std::size_t tasks() const { return nodes_.size(); }
  [[nodiscard]] std::size_t streams() const { return tail_.size(); }
  [[nodiscard]] std::size_t dependencies() const { return dependencies_; }
  [[nodiscard]] TaskKind kind(TaskId task) const { return nodes_[task.value].kind; }
  [[nodiscard]] Duration duration(TaskId task) const { return nodes_[task.value].duration; }  ///< a flow's latency
  [[nodiscard]] std::span<const StreamId> members(TaskId task) const;                         ///< the streams it holds
  [[nodiscard]] std::span<const Flow> flows() const { return flows_; }                        ///< in order of task
  [[nodiscard]] std::span<const BytesPerSecond> links() const { return links_; }

  /// Calls f(after) for every dependency of `after` on `task`. Streams do not count.
  template <class F>
  void for_each_dependent(TaskId task, F&& f) const;
  /// Calls f(after) for every edge out of `task`: its dependents, and the next task on each of its streams.
  template <class F>
  void for_each_successor(TaskId task, F&& f) const;
  /// Counts the edges into `task`.
  [[nodiscard]] std::uint32_t in_degree(TaskId task) const { return in_degree_[task.value]; }
  /// Fetches early the memory that for_each_successor(task) reads first, and its entries of `beside`, a table by task.
  void prefetch(TaskId task) const { __builtin_prefetch(&nodes_[task.value]); }
  template <class T>
  void prefetch_successors(TaskId task, const T* beside) const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Node {
    Duration duration;
    std::uint32_t dependents[3] = {kNone, kNone, kNone};  // most tasks have no more
    std::uint32_t more_dependents = kNone;                // the newest of its chunks_
    std::uint32_t next = kNone;                           // the task after it on its only stream
    std::uint32_t members : 30 = 0;
    TaskKind kind : 2 = TaskKind::kOccupy;
  };
  static_assert(sizeof(Node) == 32, "two tasks to a cache line");
  /// Further dependents of a task, three at a time.
  struct Chunk {
    std::uint32_t dependents[3] = {kNone, kNone, kNone};
    std::uint32_t next = kNone;  // an older, full one
  };
  /// The last task of a stream: an index into nodes_, or into place_next_ when the task has several streams.
  struct Tail {
    std::uint32_t index = kNone;
    bool in_places = false;
  };

  TaskId add_task(TaskKind kind, std::span<const StreamId> members, Duration duration);
  static bool put_in_free_place(std::span<std::uint32_t> places, TaskId task);
  void append(StreamId stream, Tail tail, std::uint32_t task);

  LargeVector<Node> nodes_;
  LargeVector<std::uint32_t> in_degree_;
  LargeVector<StreamId> stream_;  // the task's only stream; with several, .value is the index of the first in places_
  LargeVector<Chunk> chunks_;
  LargeVector<StreamId> places_;           // the streams of tasks that have several
  LargeVector<std::uint32_t> place_next_;  // beside places_: the task after it on that stream
  std::vector<Tail> tail_;                 // by stream
  std::vector<BytesPerSecond> links_;
  std::vector<Flow> flows_;
  std::size_t dependencies_ = 0;
};

template <class F>
void TaskGraph::for_each_dependent(TaskId task, F&& f) const {
  const Node& node = nodes_[task.value];
  for (const std::uint32_t after : node.dependents) {
    if (after == kNone) return;
    f(TaskId{after});
  }
  for (std::uint32_t i = node.more_dependents; i != kNone; i = chunks_[i].next) {
    for (const std::uint32_t after : chunks_[i].dependents) {
      if (after != kNone) f(TaskId{after});
    }
  }
}

template <class F>
void TaskGraph::for_each_successor(TaskId task, F&& f) const {
  const Node& node = nodes_[task.value];
  if (node.next != kNone) f(TaskId{node.next});
  if (node.members > 1) {
    const std::uint32_t first = stream_[task.value].value;
    for (std::uint32_t i = first; i < first + node.members; ++i) {
      if (place_next_[i] != kNone) f(TaskId{place_next_[i]});
    }
  }
  for_each_dependent(task, f);
}

template <class T>
void TaskGraph::prefetch_successors(TaskId task, const T* beside) const {
  const Node& node = nodes_[task.value];
  if (node.next != kNone) __builtin_prefetch(beside + node.next, 1);
  for (const std::uint32_t after : node.dependents) {
    if (after != kNone) __builtin_prefetch(beside + after, 1);
  }
  if (node.more_dependents != kNone) __builtin_prefetch(&chunks_[node.more_dependents]);
}

}  // namespace foretoken::des
