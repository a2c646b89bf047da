// Work as the engine sees it: streams that run tasks in order, and tasks that wait for one another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/des/time.h"

namespace foretoken::des {

using StreamId = Id<struct StreamTag>;
using TaskId = Id<struct TaskTag>;
using LinkId = Id<struct LinkTag>;

enum class TaskKind : std::uint8_t { kOccupy, kRendezvous, kFlow };

/// A graph of tasks on streams. A stream runs its tasks in the order in which they were added to it; a task starts when
/// it is at the head of all its streams and every task it depends on has ended.
class TaskGraph {
 public:
  StreamId add_stream();
  /// A link with a capacity in bytes per second (> 0), shared by flows.
  LinkId add_link(BytesPerSecond capacity);

  /// Holds its stream for a duration.
  TaskId add_occupy(StreamId stream, Duration duration);
  /// Holds no stream: passes time once its dependencies have ended, and blocks nobody.
  TaskId add_delay(Duration duration);
  /// One task on several streams: starts when all of them have reached it, holds them all.
  TaskId add_rendezvous(std::span<const StreamId> members, Duration duration);
  /// Bytes over a route, at the rate that max-min fair sharing grants, after a latency; holds `members` (may be empty).
  TaskId add_flow(std::span<const StreamId> members, Bytes bytes, std::span<const LinkId> route, Duration latency);

  /// `after` starts only once `before` has ended.
  void add_dependency(TaskId before, TaskId after);
  void reserve(std::size_t tasks, std::size_t dependencies);

  [[nodiscard]] std::size_t tasks() const { return kind_.size(); }
  [[nodiscard]] std::size_t streams() const { return streams_; }
  [[nodiscard]] TaskKind kind(TaskId task) const { return kind_[task.value]; }
  [[nodiscard]] Duration duration(TaskId task) const { return duration_[task.value]; }

  // Raw tables for the engine, indexed by task.
  struct Flow { Bytes bytes; std::vector<LinkId> route; };
  [[nodiscard]] std::span<const Duration> durations() const { return duration_; }
  [[nodiscard]] std::span<const std::uint32_t> member_begin() const { return member_begin_; }
  [[nodiscard]] std::span<const StreamId> members() const { return members_; }
  [[nodiscard]] std::span<const std::pair<TaskId, TaskId>> dependencies() const { return dependencies_; }

 private:
  std::size_t streams_ = 0;
  std::vector<TaskKind> kind_;
  std::vector<Duration> duration_;
  std::vector<std::uint32_t> member_begin_{0};
  std::vector<StreamId> members_;
  std::vector<std::pair<TaskId, TaskId>> dependencies_;
  std::vector<BytesPerSecond> links_;
  std::vector<std::uint32_t> flow_of_;
  std::vector<Flow> flows_;
};

}  // namespace foretoken::des
