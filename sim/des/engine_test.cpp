// Tests the engine against closed forms, exhaustive small cases and single picoseconds.
#include "sim/des/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "sim/base/error.h"

namespace foretoken::des {
namespace {

Duration ps(std::int64_t n) { return {n}; }

/// Sends `items` through `stages` streams forward and then backward. A stage runs all forwards, then all backwards.
Instant fill_and_drain(std::uint32_t stages, std::uint32_t items, Duration forward, Duration backward) {
  TaskGraph graph;
  std::vector<std::vector<TaskId>> there(stages), back(stages);
  for (std::uint32_t s = 0; s < stages; ++s) {
    const StreamId stream = graph.add_stream();
    for (std::uint32_t i = 0; i < items; ++i) there[s].push_back(graph.add_occupy(stream, forward));
    for (std::uint32_t i = 0; i < items; ++i) back[s].push_back(graph.add_occupy(stream, backward));
  }
  for (std::uint32_t i = 0; i < items; ++i) {
    for (std::uint32_t s = 0; s + 1 < stages; ++s) {
      graph.add_dependency(there[s][i], there[s + 1][i]);
      graph.add_dependency(back[s + 1][i], back[s][i]);
    }
  }
  return run(graph).makespan;
}

/// Sends the same items, with one forward and one backward in turn in the steady state.
Instant alternate(std::uint32_t stages, std::uint32_t items, Duration forward, Duration backward) {
  TaskGraph graph;
  std::vector<std::vector<TaskId>> there(stages), back(stages);
  for (std::uint32_t s = 0; s < stages; ++s) {
    const StreamId stream = graph.add_stream();
    const std::uint32_t ahead = std::min(stages - s - 1, items);
    for (std::uint32_t i = 0; i < items + ahead; ++i) {
      if (i < items) there[s].push_back(graph.add_occupy(stream, forward));
      if (i >= ahead) back[s].push_back(graph.add_occupy(stream, backward));
    }
  }
  for (std::uint32_t i = 0; i < items; ++i) {
    for (std::uint32_t s = 0; s + 1 < stages; ++s) {
      graph.add_dependency(there[s][i], there[s + 1][i]);
      graph.add_dependency(back[s + 1][i], back[s][i]);
    }
  }
  return run(graph).makespan;
}

TEST(Engine, ShowsItsProgressToTheEndAndRunsTheSame) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  const LinkId link = graph.add_link(BytesPerSecond(1));
  for (int i = 0; i < 5000; ++i) graph.add_occupy(stream, ps(i));
  for (const bool flows : {false, true}) {
    if (flows) graph.add_flow({}, Bytes(1), std::array{link}, ps(1));
    std::vector<std::size_t> shown;
    const Watch watch{.progress = [&](std::size_t done, std::size_t total) {
      EXPECT_EQ(total, graph.tasks());
      shown.push_back(done);
    }};
    const RunResult watched = run(graph, {}, Kept::kStartsAndEnds, watch);
    EXPECT_EQ(watched.end, run(graph).end);
    EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
    EXPECT_GE(shown.back() + graph.tasks() / 500, graph.tasks());
    EXPECT_EQ(shown.front(), 0U);
    EXPECT_LE(shown.size(), 1002U);
    EXPECT_GT(shown.size(), 500U);
  }
}

TEST(Engine, PipelinesTakeItemsPlusStagesLessOneRoundsToThePicosecond) {
  for (std::uint32_t stages = 1; stages <= 8; ++stages) {
    for (std::uint32_t items = 1; items <= 12; ++items) {
      const std::int64_t closed_form = std::int64_t{items + stages - 1} * (1009 + 1999);
      EXPECT_EQ(fill_and_drain(stages, items, ps(1009), ps(1999)).ps, closed_form) << stages << " x " << items;
      EXPECT_EQ(alternate(stages, items, ps(1009), ps(1999)).ps, closed_form) << stages << " x " << items;
    }
  }
}

/// Runs two tasks on one or two streams, in every arrangement of durations up to 2 ps, with and without a dependency.
TEST(Engine, TwoTasksExhaustively) {
  for (std::int64_t first = 0; first <= 2; ++first) {
    for (std::int64_t second = 0; second <= 2; ++second) {
      for (const bool same_stream : {false, true}) {
        for (const bool depends : {false, true}) {
          TaskGraph graph;
          const StreamId a = graph.add_stream(), b = same_stream ? a : graph.add_stream();
          const TaskId one = graph.add_occupy(a, ps(first)), two = graph.add_occupy(b, ps(second));
          if (depends) graph.add_dependency(one, two);
          const RunResult result = run(graph);
          const std::int64_t start = same_stream || depends ? first : 0;
          EXPECT_EQ(result.start[two.value].ps, start);
          EXPECT_EQ(result.end[two.value].ps, start + second);
          EXPECT_EQ(result.makespan.ps, std::max(first, start + second));
          EXPECT_TRUE(result.stuck.empty());
        }
      }
    }
  }
}

TEST(Engine, AnEmptyGraphEndsAtOnce) {
  const RunResult result = run(TaskGraph());
  EXPECT_EQ(result.makespan, Instant{});
  EXPECT_TRUE(result.start.empty() && result.end.empty() && result.stuck.empty());
}

// The first dependents stand in the task, the others in chunks.
TEST(TaskGraph, AnyNumberOfDependentsIsKept) {
  for (std::uint32_t count = 0; count <= 40; ++count) {
    TaskGraph graph;
    const TaskId before = graph.add_delay(ps(1));
    for (std::uint32_t i = 0; i < count; ++i) graph.add_dependency(before, graph.add_delay(ps(1)));
    std::vector<bool> met(count, false);
    graph.for_each_dependent(before, [&](TaskId after) { met[after.value - 1] = !met[after.value - 1]; });
    EXPECT_EQ(std::ranges::count(met, true), count);
  }
}

TEST(Engine, AStreamKeepsItsOrderEvenWhenALaterTaskCouldStart) {
  TaskGraph graph;
  const StreamId busy = graph.add_stream(), stream = graph.add_stream();
  const TaskId slow = graph.add_occupy(busy, ps(10));
  const TaskId waits = graph.add_occupy(stream, ps(1)), free = graph.add_occupy(stream, ps(1));
  graph.add_dependency(slow, waits);
  EXPECT_EQ(run(graph).start[free.value].ps, 11);
}

TEST(Engine, ADelayBlocksNobody) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  const TaskId before = graph.add_occupy(stream, ps(5)), delay = graph.add_delay(ps(100));
  const TaskId next = graph.add_occupy(stream, ps(5)), after = graph.add_occupy(stream, ps(1));
  graph.add_dependency(before, delay);
  graph.add_dependency(delay, after);
  const RunResult result = run(graph);
  EXPECT_EQ(result.start[next.value].ps, 5);
  EXPECT_EQ(result.start[after.value].ps, 105);
}

TEST(Engine, ARendezvousStartsWithTheLastMemberAndHoldsAll) {
  for (const std::int64_t late : {6, 7, 8}) {  // a picosecond before, at, and after the other
    TaskGraph graph;
    const std::array streams = {graph.add_stream(), graph.add_stream(), graph.add_stream()};
    graph.add_occupy(streams[0], ps(7));
    graph.add_occupy(streams[1], ps(late));
    const TaskId meet = graph.add_rendezvous(streams, ps(10));
    const TaskId after = graph.add_occupy(streams[2], ps(1));
    const RunResult result = run(graph);
    EXPECT_EQ(result.start[meet.value].ps, std::max<std::int64_t>(7, late));
    EXPECT_EQ(result.start[after.value].ps, std::max<std::int64_t>(7, late) + 10);
  }
}

TEST(Engine, ChainsWithoutDurationTakeNoTime) {
  TaskGraph graph;
  const std::array streams = {graph.add_stream(), graph.add_stream()};
  const TaskId first = graph.add_occupy(streams[0], ps(3));
  TaskId last = first;
  for (int i = 0; i < 100; ++i) {
    const TaskId next = i % 3 == 0 ? graph.add_rendezvous(streams, ps(0)) : graph.add_delay(ps(0));
    graph.add_dependency(last, next);
    last = next;
  }
  const RunResult result = run(graph);
  EXPECT_EQ(result.end[last.value].ps, 3);
  EXPECT_EQ(result.start[last.value].ps, 3);
}

/// A task with many dependents and one with many dependencies overflow the places beside a task, and its counter.
TEST(Engine, WideFansInAndOut) {
  for (const std::uint32_t width : {1U, 3U, 4U, 6U, 7U, 254U, 255U, 256U, 1000U}) {
    TaskGraph graph;
    const TaskId source = graph.add_delay(ps(5)), sink = graph.add_delay(ps(1));
    for (std::uint32_t i = 0; i < width; ++i) {
      const TaskId middle = graph.add_delay(ps(i));
      graph.add_dependency(source, middle);
      graph.add_dependency(middle, sink);
    }
    EXPECT_EQ(run(graph).start[sink.value].ps, 5 + width - 1);
    EXPECT_EQ(graph.dependencies(), 2 * width);
  }
}

TEST(Engine, TimeReachesTheLastPicosecondAndNoFurther) {
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max() - 1;  // the greatest value is kNever
  const auto two_in_a_row = [](std::int64_t first, std::int64_t second) {
    TaskGraph graph;
    const StreamId stream = graph.add_stream();
    graph.add_occupy(stream, ps(first));
    graph.add_occupy(stream, ps(second));
    return run(graph).makespan.ps;
  };
  EXPECT_EQ(two_in_a_row(limit - 7, 7), limit);
  EXPECT_THROW(two_in_a_row(limit - 7, 8), ConfigError);
  EXPECT_THROW(two_in_a_row(limit, limit), ConfigError);
}

TEST(TaskGraph, RefusesMalformedGraphs) {
  TaskGraph graph;
  const StreamId stream = graph.add_stream();
  const std::array twice = {stream, stream};
  const TaskId task = graph.add_occupy(stream, ps(1));
  EXPECT_DEATH(graph.add_occupy(stream, ps(-1)), "lasts no negative time");
  EXPECT_DEATH(graph.add_occupy({1}, ps(1)), "runs on streams of the graph");
  EXPECT_DEATH(graph.add_rendezvous(twice, ps(1)), "names each of its streams once");
  EXPECT_DEATH(graph.add_rendezvous({}, ps(1)), "at least one member");
  EXPECT_DEATH(graph.add_dependency(task, {1}), "joins tasks of the graph");
  EXPECT_DEATH(graph.add_link(BytesPerSecond(0)), "positive, finite capacity");
  const std::array nowhere = {LinkId{0}};
  EXPECT_DEATH(graph.add_flow({}, Bytes(1), nowhere, ps(0)), "links of the graph");
}

TEST(TaskGraph, ReturnsItsOwnParts) {
  TaskGraph graph;
  const std::array streams = {graph.add_stream(), graph.add_stream()};
  const TaskId one = graph.add_occupy(streams[1], ps(3)), none = graph.add_delay(ps(4));
  const TaskId both = graph.add_rendezvous(streams, ps(5));
  graph.add_dependency(none, both);
  graph.add_dependency(none, one);
  const auto members = [&](TaskId task) {
    return std::vector<StreamId>(graph.members(task).begin(), graph.members(task).end());
  };
  EXPECT_EQ(members(one), std::vector{streams[1]});
  EXPECT_TRUE(members(none).empty());
  EXPECT_EQ(members(both), std::vector(streams.begin(), streams.end()));
  EXPECT_EQ(graph.kind(both), TaskKind::kRendezvous);
  EXPECT_EQ(graph.duration(none), ps(4));
  std::vector<TaskId> dependents;
  graph.for_each_dependent(none, [&](TaskId after) { dependents.push_back(after); });
  EXPECT_EQ(dependents, (std::vector{both, one}));
  EXPECT_EQ(graph.in_degree(both), 2U);  // its dependency, and the task before it on the second stream
}

}  // namespace
}  // namespace foretoken::des
