// Builds a task graph: each new task and dependency is linked at once.
#include "sim/des/task_graph.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::des {

StreamId TaskGraph::add_stream() {
  tail_.emplace_back();
  return {static_cast<std::uint32_t>(tail_.size() - 1)};
}

LinkId TaskGraph::add_link(BytesPerSecond capacity) {
  expects(capacity.value() > 0 && std::isfinite(capacity.value()), "a link has a positive, finite capacity");
  links_.push_back(capacity);
  return {static_cast<std::uint32_t>(links_.size() - 1)};
}

TaskId TaskGraph::add_occupy(StreamId stream, Duration duration) {
  return add_task(TaskKind::kOccupy, {&stream, 1}, duration);
}

TaskId TaskGraph::add_delay(Duration duration) { return add_task(TaskKind::kOccupy, {}, duration); }

TaskId TaskGraph::add_rendezvous(std::span<const StreamId> members, Duration duration) {
  expects(!members.empty(), "a rendezvous has at least one member");
  return add_task(TaskKind::kRendezvous, members, duration);
}

TaskId TaskGraph::add_flow(std::span<const StreamId> members, Bytes bytes, std::span<const LinkId> route,
                           Duration latency) {
  expects(bytes.value() >= 0 && std::isfinite(bytes.value()), "a flow carries a finite number of bytes, zero or more");
  for (const LinkId link : route) expects(link.value < links_.size(), "a route goes over links of the graph");
  const TaskId task = add_task(TaskKind::kFlow, members, latency);
  flows_.push_back({task, bytes, {route.begin(), route.end()}});
  return task;
}

void TaskGraph::add_dependency(TaskId before, TaskId after) {
  expects(before.value < nodes_.size() && after.value < nodes_.size(), "a dependency joins tasks of the graph");
  ++dependencies_;
  in_degrees_.count_up(after.value);
  Node& node = nodes_[before.value];
  if (!node.chunked) {
    if (put_in_free_place(node.dependents, after)) return;
    chunks_.push_back({{node.dependents[2], after.value, kNone, kNone, kNone, kNone, kNone}, kNone});
  } else {
    if (put_in_free_place(chunks_[node.dependents[2]].dependents, after)) return;
    chunks_.push_back({{after.value, kNone, kNone, kNone, kNone, kNone, kNone}, node.dependents[2]});
  }
  node.chunked = true;
  node.dependents[2] = static_cast<std::uint32_t>(chunks_.size() - 1);
}

bool TaskGraph::put_in_free_place(std::span<std::uint32_t> places, TaskId task) {
  for (std::uint32_t& place : places) {
    if (place != kNone) continue;
    place = task.value;
    return true;
  }
  return false;
}

void TaskGraph::reserve(std::size_t tasks, std::size_t dependencies) {
  nodes_.reserve(tasks);
  in_degrees_.reserve(tasks);
  // A task holds up to three dependents itself. Of more, it holds two, and the others stand in chunks of seven.
  if (dependencies > 2 * tasks) chunks_.reserve((dependencies - 2 * tasks) / 7);
}

Streams TaskGraph::members(TaskId task) const {
  const Node& node = nodes_[task.value];
  if (node.in_table) return Streams(std::span(table_).subspan(node.stream.value, node.members));
  return {node.stream, node.members};
}

TaskId TaskGraph::add_task(TaskKind kind, std::span<const StreamId> members, Duration duration) {
  expects(duration >= Duration{}, "a task lasts no negative time");
  expects(nodes_.size() < kNone, "a graph has fewer than 2^32 - 1 tasks");
  const auto task = static_cast<std::uint32_t>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.duration = duration;
  node.kind = kind;
  node.members = static_cast<std::uint32_t>(members.size()) & (~0U >> 5);
  in_degrees_.add_task();
  const auto leaves_the_row = [](StreamId a, StreamId b) { return b.value != a.value + 1; };
  node.in_table = std::ranges::adjacent_find(members, leaves_the_row) != members.end();
  if (node.in_table) {
    node.stream = {static_cast<std::uint32_t>(table_.size())};
    table_.insert(table_.end(), members.begin(), members.end());
  } else if (!members.empty()) {
    node.stream = members.front();
  }
  append(this->members({task}), task);
  return {task};
}

// Makes `task` the last one of its streams.
void TaskGraph::append(Streams members, std::uint32_t task) {
  if (members.empty()) return;
  for (const StreamId stream : members) expects(stream.value < tail_.size(), "a task runs on streams of the graph");
  const Tail first = tail_[members.front().value];
  const bool together = first.task != kNone && all_end_in(first.task, members);
  if (together) {
    nodes_[first.task].next = task;
    in_degrees_.count_up(task);
  }
  for (const StreamId stream : members) {
    Tail& tail = tail_[stream.value];
    expects(tail.task != task, "a task names each of its streams once");
    if (!together && tail.task != kNone) {
      if (tail.place == kNone) split(tail.task);
      next_[tail.place] = task;
      in_degrees_.count_up(task);
    }
    tail = {task, kNone};
  }
}

// Tells whether `members` are the streams of `before`, and it is still the last task on all of them.
bool TaskGraph::all_end_in(std::uint32_t before, Streams members) const {
  const Node& node = nodes_[before];
  if (node.split || node.members != members.size()) return false;
  return std::ranges::all_of(members, [&](StreamId stream) { return tail_[stream.value].task == before; });
}

// Gives each stream of a task its own next task. The task is still the last one on all of them.
void TaskGraph::split(std::uint32_t task) {
  nodes_[task].split = true;
  nodes_[task].next = static_cast<std::uint32_t>(next_.size());
  for (const StreamId stream : members({task})) {
    tail_[stream.value] = {task, static_cast<std::uint32_t>(next_.size())};
    next_.push_back(kNone);
  }
}

}  // namespace foretoken::des
