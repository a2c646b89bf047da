// Explains a run after it stopped. The loop itself keeps no record of who waits.
#include "sim/des/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/check.h"

namespace foretoken::des {
namespace {

/// Returns, for every stream, the first task that never started. A stream runs in order, so that task stands at its
/// head.
std::vector<std::optional<TaskId>> find_heads(const TaskGraph& graph, std::span<const Instant> start) {
  std::vector<std::optional<TaskId>> heads(graph.streams());
  for (std::uint32_t task = 0; task < graph.tasks(); ++task) {
    if (start[task] != kNever) continue;
    for (const StreamId stream : graph.members({task})) {
      if (!heads[stream.value]) heads[stream.value] = TaskId{task};
    }
  }
  return heads;
}

/// Returns one of the tasks that `task` waits for.
TaskId waits_for(TaskId task, const TaskGraph& graph, const RunResult& result,
                 std::span<const std::optional<TaskId>> heads) {
  const auto stuck = std::lower_bound(result.stuck.begin(), result.stuck.end(), task,
                                      [](const Stuck& s, TaskId wanted) { return s.task < wanted; });
  const bool listed = stuck != result.stuck.end() && stuck->task == task;
  if (!listed) return *heads[graph.members(task).front().value];  // it stands at the head of none of its streams
  if (!stuck->waits_for.empty()) return stuck->waits_for.front();
  expects(!stuck->waits_on_streams.empty(), "a stuck task waits for something");
  return *heads[stuck->waits_on_streams.front().value];
}

std::string describe_stuck(const Stuck& stuck, const TaskGraph& graph, std::span<const std::optional<TaskId>> heads,
                           const Names& names) {
  std::string on, what;
  for (const StreamId stream : graph.members(stuck.task))
    on += fmt::format("{}{}", on.empty() ? " on " : ", ", names.stream(stream));
  for (const TaskId before : stuck.waits_for)
    what += fmt::format("{}for {}", what.empty() ? "" : ", ", names.task(before));
  for (const StreamId stream : stuck.waits_on_streams)
    what += fmt::format("{}for stream {}, held up by {}", what.empty() ? "" : ", ", names.stream(stream),
                        names.task(*heads[stream.value]));
  return fmt::format("{}{} waits {}\n", names.task(stuck.task), on, what);
}

}  // namespace

std::vector<Stuck> find_stuck(const TaskGraph& graph, std::span<const Instant> start) {
  const auto heads = find_heads(graph, start);
  std::vector<Stuck> all;
  std::vector<std::optional<std::uint32_t>> entry(graph.tasks());  // in `all`
  for (std::uint32_t i = 0; i < graph.tasks(); ++i) {
    if (start[i] != kNever) continue;
    const auto members = graph.members({i});
    const auto headed_by_another = [&](StreamId stream) { return heads[stream.value] != TaskId{i}; };
    if (!members.empty() && std::all_of(members.begin(), members.end(), headed_by_another)) continue;
    entry[i] = static_cast<std::uint32_t>(all.size());
    Stuck& stuck = all.emplace_back();
    stuck.task = {i};
    std::copy_if(members.begin(), members.end(), std::back_inserter(stuck.waits_on_streams), headed_by_another);
  }
  for (std::uint32_t i = 0; i < graph.tasks(); ++i) {
    if (start[i] != kNever) continue;
    graph.for_each_dependent({i}, [&](TaskId after) {
      if (!entry[after.value]) return;
      std::vector<TaskId>& before = all[*entry[after.value]].waits_for;
      if (before.empty() || before.back() != TaskId{i}) before.push_back({i});  // a dependency may be stated twice
    });
  }
  return all;
}

std::vector<TaskId> waiting_circle(const TaskGraph& graph, const RunResult& result) {
  expects(!result.stuck.empty(), "only a deadlock has a circle");
  const auto heads = find_heads(graph, result.start);
  std::vector<bool> visited(graph.tasks(), false);
  std::vector<TaskId> path;
  TaskId task = result.stuck.front().task;
  for (; !visited[task.value]; task = waits_for(task, graph, result, heads)) {
    visited[task.value] = true;
    path.push_back(task);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), task));
  return path;
}

std::string describe_deadlock(const TaskGraph& graph, const RunResult& result, const Names& names, std::size_t most) {
  if (result.stuck.empty()) return {};
  const auto heads = find_heads(graph, result.start);
  std::string text = fmt::format("deadlock: nothing can start after {} ps\nin a circle: ", result.makespan.ps);
  const std::vector<TaskId> circle = waiting_circle(graph, result);
  for (const TaskId task : circle) text += names.task(task) + " waits for ";
  text += names.task(circle.front()) + "\n";
  for (std::size_t i = 0; i < std::min(most, result.stuck.size()); ++i)
    text += describe_stuck(result.stuck[i], graph, heads, names);
  if (result.stuck.size() > most) text += fmt::format("and {} more\n", result.stuck.size() - most);
  return text;
}

}  // namespace foretoken::des
