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
  ++in_degree_[after.value];
  Node& node = nodes_[before.value];
  if (put_in_free_place(node.dependents, after)) return;
  if (node.more_dependents == kNone || !put_in_free_place(chunks_[node.more_dependents].dependents, after)) {
    chunks_.push_back({{after.value, kNone, kNone}, node.more_dependents});
    node.more_dependents = static_cast<std::uint32_t>(chunks_.size() - 1);
  }
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
  in_degree_.reserve(tasks);
  stream_.reserve(tasks);
  // A task holds its first three dependents itself. The others stand in chunks of three.
  if (dependencies > 3 * tasks) chunks_.reserve((dependencies - 3 * tasks) / 3);
}

std::span<const StreamId> TaskGraph::members(TaskId task) const {
  const Node& node = nodes_[task.value];
  const StreamId& stream = stream_[task.value];
  if (node.members <= 1) return {&stream, node.members};
  return std::span(places_).subspan(stream.value, node.members);
}

TaskId TaskGraph::add_task(TaskKind kind, std::span<const StreamId> members, Duration duration) {
  expects(duration >= Duration{}, "a task lasts no negative time");
  expects(nodes_.size() < kNone, "a graph has fewer than 2^32 - 1 tasks");
  const auto task = static_cast<std::uint32_t>(nodes_.size());
  Node& node = nodes_.emplace_back();
  node.duration = duration;
  node.kind = kind;
  node.members = static_cast<std::uint32_t>(members.size()) & (~0U >> 2);
  in_degree_.push_back(0);
  if (members.size() == 1) {
    stream_.push_back(members.front());
    append(members.front(), {task, false}, task);
    return {task};
  }
  stream_.push_back({static_cast<std::uint32_t>(places_.size())});
  for (const StreamId stream : members) {
    const auto place = static_cast<std::uint32_t>(places_.size());
    places_.push_back(stream);
    place_next_.push_back(kNone);
    append(stream, {place, true}, task);
  }
  return {task};
}

void TaskGraph::append(StreamId stream, Tail tail, std::uint32_t task) {
  expects(stream.value < tail_.size(), "a task runs on streams of the graph");
  const Tail before = tail_[stream.value];
  const bool twice = tail.in_places && before.in_places && before.index != kNone && before.index >= stream_[task].value;
  expects(!twice, "a task names each of its streams once");
  tail_[stream.value] = tail;
  if (before.index == kNone) return;
  std::uint32_t& next = before.in_places ? place_next_[before.index] : nodes_[before.index].next;
  next = task;
  ++in_degree_[task];
}

}  // namespace foretoken::des
