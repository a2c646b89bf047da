// Tests of deadlocks: the tasks that are named, and the words.
#include "sim/des/deadlock.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>

#include "sim/des/plan_test.h"

namespace foretoken::des {
namespace {

const Names kNames{[](TaskId task) { return fmt::format("task {}", task.value); },
                   [](StreamId stream) { return fmt::format("{}", static_cast<char>('a' + stream.value)); }};

TEST(Deadlock, TwoTasksThatWaitForEachOther) {
  TaskGraph graph;
  const std::array streams = {graph.add_stream(), graph.add_stream()};
  const TaskId work = graph.add_occupy(streams[0], {5});
  const TaskId one = graph.add_occupy(streams[0], {1}), two = graph.add_occupy(streams[1], {1});
  const TaskId behind = graph.add_occupy(streams[1], {1});
  graph.add_dependency(two, one);
  graph.add_dependency(one, two);
  const RunResult result = run(graph);
  EXPECT_EQ(result.makespan.ps, 5);
  EXPECT_EQ(result.end[work.value].ps, 5);
  EXPECT_EQ(result.start[behind.value], kNever);
  EXPECT_EQ(result.end[behind.value], kNever);
  EXPECT_EQ(describe_deadlock(graph, result, kNames),
            "deadlock: nothing can start after 5 ps\n"
            "in a circle: task 1 waits for task 2 waits for task 1\n"
            "task 1 on a waits for task 2\n"
            "task 2 on b waits for task 1\n");
}

TEST(Deadlock, ARendezvousNamesTheStreamsThatNeverCome) {
  TaskGraph graph;
  const std::array streams = {graph.add_stream(), graph.add_stream(), graph.add_stream()};
  const TaskId blocker = graph.add_occupy(streams[1], {1});
  const TaskId meet = graph.add_rendezvous(streams, {1});
  const TaskId after = graph.add_occupy(streams[2], {1});
  const TaskId delay = graph.add_delay({1});
  graph.add_dependency(after, blocker);
  graph.add_dependency(after, delay);
  const RunResult result = run(graph);
  ASSERT_EQ(result.stuck.size(), 3U);
  EXPECT_EQ(result.stuck[0].task, blocker);
  EXPECT_EQ(result.stuck[0].waits_for, std::vector{after});
  EXPECT_EQ(result.stuck[1].task, meet);
  EXPECT_TRUE(result.stuck[1].waits_for.empty());
  EXPECT_EQ(result.stuck[1].waits_on_streams, std::vector{streams[1]});
  EXPECT_EQ(result.stuck[2].task, delay);
  EXPECT_EQ(waiting_circle(graph, result), (std::vector{blocker, after, meet}));
  EXPECT_EQ(describe_deadlock(graph, result, kNames, 2),
            "deadlock: nothing can start after 0 ps\n"
            "in a circle: task 0 waits for task 2 waits for task 1 waits for task 0\n"
            "task 0 on b waits for task 2\n"
            "task 1 on a, b, c waits for stream b, held up by task 0\n"
            "and 1 more\n");
}

TEST(Deadlock, ATaskThatWaitsForItself) {
  TaskGraph graph;
  const TaskId task = graph.add_delay({1});
  graph.add_dependency(task, task);
  const RunResult result = run(graph);
  EXPECT_EQ(describe_deadlock(graph, result, kNames),
            "deadlock: nothing can start after 0 ps\n"
            "in a circle: task 0 waits for task 0\n"
            "task 0 waits for task 0\n");
}

TEST(Deadlock, NoneIsDescribedByNothing) {
  TaskGraph graph;
  graph.add_delay({1});
  EXPECT_EQ(describe_deadlock(graph, run(graph), kNames), "");
}

/// On random graphs, something is stuck exactly when a task never started. The reported circle is a circle.
TEST(Deadlock, HoldsACircleWheneverSomethingNeverStarted) {
  EXPECT_TRUE(rc::check("circle", [] {
    const testing::Plan plan = testing::draw_plan(false, true);
    const testing::Built built = testing::build(plan);
    const RunResult result = run(built.graph);
    const bool all_started = std::count(result.start.begin(), result.start.end(), kNever) == 0;
    RC_CLASSIFY(!all_started, "deadlocked");
    RC_ASSERT(result.stuck.empty() == all_started);
    if (all_started) return;
    const std::vector<TaskId> circle = waiting_circle(built.graph, result);
    RC_ASSERT(!circle.empty());
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const TaskId task = circle[i], awaited = circle[(i + 1) % circle.size()];
      RC_ASSERT(result.start[task.value] == kNever);
      bool waits = false;
      built.graph.for_each_dependent(awaited, [&](TaskId after) { waits |= after == task; });
      for (const StreamId stream : built.graph.members(task)) {
        const auto others = built.graph.members(awaited);
        waits |= awaited < task && std::count(others.begin(), others.end(), stream) > 0;
      }
      RC_ASSERT(waits);
    }
  }));
}

}  // namespace
}  // namespace foretoken::des
