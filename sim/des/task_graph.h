// Work as the engine sees it: streams that run tasks in order, and tasks that wait for one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/large_vector.h"
#include "sim/des/edge_counts.h"
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

/// The streams that a task holds: one after another by number, or as a table says.
class Streams {
 public:
  class Iterator {
   public:
    using value_type = StreamId;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const Streams* streams, std::uint32_t at) : streams_(streams), at_(at) {}
    StreamId operator*() const { return (*streams_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {streams_, at_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const Streams* streams_ = nullptr;
    std::uint32_t at_ = 0;
  };

  Streams(StreamId first, std::uint32_t count) : first_(first), count_(count) {}
  explicit Streams(std::span<const StreamId> table)
      : table_(table.data()), count_(static_cast<std::uint32_t>(table.size())) {}

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] StreamId front() const { return (*this)[0]; }
  [[nodiscard]] StreamId operator[](std::uint32_t at) const {
    return table_ != nullptr ? table_[at] : StreamId{first_.value + at};
  }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, count_}; }

 private:
  const StreamId* table_ = nullptr;
  StreamId first_;
  std::uint32_t count_ = 0;
};

/// A graph of tasks on streams. A stream runs its tasks in the order in which they were added to it. A task starts when
/// it is at the head of all its streams and every task it depends on has ended.
///
/// A task is at the head of a stream when the task before it has ended, so a stream is a chain of edges like any other.
/// The graph links them while it is built: a run needs neither sorting nor stream state. Two tasks that follow each
/// other on the same set of streams are joined by one edge.
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
  [[nodiscard]] Streams members(TaskId task) const;                                           ///< the streams it holds
  [[nodiscard]] std::span<const Flow> flows() const { return flows_; }                        ///< in order of task
  [[nodiscard]] std::span<const BytesPerSecond> links() const { return links_; }

  /// Calls f(after) for every dependency of `after` on `task`. Streams do not count.
  template <class F>
  void for_each_dependent(TaskId task, F&& f) const;
  /// Calls f(after) for every edge out of `task`: its dependents, and the next task on each of its streams.
  template <class F>
  void for_each_successor(TaskId task, F&& f) const;
  /// Counts the edges into `task`.
  [[nodiscard]] std::uint32_t in_degree(TaskId task) const { return in_degrees_[task.value]; }
  [[nodiscard]] const EdgeCounts& in_degrees() const { return in_degrees_; }
  /// Fetches early what the end of `task` will read: the counts of its successors, and its chunk. The next task of its
  /// stream mostly starts then, so its node and its place in `starts` are fetched too. Both tables are by task.
  void prefetch_successors(TaskId task, const EdgeCounts& counts, const Instant* starts) const;

 private:
  static constexpr std::uint32_t kNone = ~0U;
  struct Node {
    Duration duration;
    std::uint32_t dependents[3] = {kNone, kNone, kNone};  // most tasks have no more; see chunked
    StreamId stream;                 // its first stream; of those in table_, .value is the place of the first
    std::uint32_t next = kNone;      // the task after it on all its streams; once split, its first place in next_
    std::uint32_t members : 27 = 0;  // number of its streams
    TaskKind kind : 2 = TaskKind::kOccupy;
    bool in_table : 1 = false;  // its streams stand in table_, as they do not follow one another
    bool split : 1 = false;     // its streams go on to different tasks
    bool chunked : 1 = false;   // dependents[2] is the newest of its chunks_
  };
  static_assert(sizeof(Node) == 32, "two tasks to a cache line");
  /// Further dependents of a task, the third among them.
  struct Chunk {
    std::uint32_t dependents[7] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone};
    std::uint32_t next = kNone;  // an older, full one
  };
  /// The last task of a stream, and its place in next_ once the task is split.
  struct Tail {
    std::uint32_t task = kNone, place = kNone;
  };

  TaskId add_task(TaskKind kind, std::span<const StreamId> members, Duration duration);
  static bool put_in_free_place(std::span<std::uint32_t> places, TaskId task);
  void append(Streams members, std::uint32_t task);
  [[nodiscard]] bool all_end_in(std::uint32_t before, Streams members) const;
  void split(std::uint32_t task);

  LargeVector<Node> nodes_;
  EdgeCounts in_degrees_;
  LargeVector<Chunk> chunks_;
  LargeVector<StreamId> table_;
  LargeVector<std::uint32_t> next_;  // of split tasks, by stream: the task after it
  std::vector<Tail> tail_;           // by stream
  std::vector<BytesPerSecond> links_;
  std::vector<Flow> flows_;
  std::size_t dependencies_ = 0;
};

template <class F>
void TaskGraph::for_each_dependent(TaskId task, F&& f) const {
  const Node& node = nodes_[task.value];
  for (std::uint32_t place = 0; place < (node.chunked ? 2 : 3); ++place) {
    if (node.dependents[place] == kNone) return;
    f(TaskId{node.dependents[place]});
  }
  if (!node.chunked) return;
  for (std::uint32_t i = node.dependents[2]; i != kNone; i = chunks_[i].next) {
    for (const std::uint32_t after : chunks_[i].dependents) {
      if (after == kNone) break;
      f(TaskId{after});
    }
  }
}

template <class F>
void TaskGraph::for_each_successor(TaskId task, F&& f) const {
  const Node& node = nodes_[task.value];
  if (!node.split) {
    if (node.next != kNone) f(TaskId{node.next});
  } else {
    for (std::uint32_t i = node.next; i < node.next + node.members; ++i) {
      if (next_[i] != kNone) f(TaskId{next_[i]});
    }
  }
  for_each_dependent(task, f);
}

// GCC 12 deletes calls of a function that only fetches, as if it had no effect. An inlined body stays.
[[gnu::always_inline]] inline void TaskGraph::prefetch_successors(TaskId task, const EdgeCounts& counts,
                                                                  const Instant* starts) const {
  const Node& node = nodes_[task.value];
  if (node.next != kNone && !node.split) {
    __builtin_prefetch(counts.bytes() + node.next, 1);
    __builtin_prefetch(&nodes_[node.next]);
    __builtin_prefetch(starts + node.next, 1);
  }
  for (std::uint32_t place = 0; place < (node.chunked ? 2 : 3); ++place) {
    if (node.dependents[place] != kNone) __builtin_prefetch(counts.bytes() + node.dependents[place], 1);
  }
  if (node.chunked) __builtin_prefetch(&chunks_[node.dependents[2]]);
}

}  // namespace foretoken::des
