// Tests flows that share links, with arrivals computed by hand. A byte at 1e12 bytes per second takes a picosecond.
#include "sim/des/flows/flow_network.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "sim/des/engine.h"

namespace foretoken::des {
namespace {

constexpr BytesPerSecond kBytePerPs(1e12);

/// A flow with its bytes, the instant it joins, and its route over links of one byte per picosecond.
struct Sent {
  double bytes;
  std::int64_t joins;
  std::vector<LinkId> route;
};
std::vector<std::int64_t> arrivals(std::size_t links, const std::vector<Sent>& sent) {
  TaskGraph graph;
  for (std::size_t l = 0; l < links; ++l) graph.add_link(kBytePerPs);
  for (const auto& [bytes, joins, route] : sent) graph.add_flow({}, Bytes(bytes), route, {joins});
  std::vector<std::int64_t> at;
  for (const Instant end : run(graph).end) at.push_back(end.ps);
  return at;
}
using Ps = std::vector<std::int64_t>;
const LinkId a{0}, b{1};

TEST(Flows, ArrivalsByHand) {
  struct Case {
    const char* name;
    std::size_t links;
    std::vector<Sent> sent;
    Ps arrivals;
  };
  const Case cases[] = {
      {"one flow: latency, then bytes", 1, {{100, 7, {a}}}, {107}},
      {"two equal ones take twice as long", 1, {{100, 0, {a}}, {100, 0, {a}}}, {200, 200}},
      {"the shorter leaves, the longer speeds up", 1, {{100, 0, {a}}, {300, 0, {a}}}, {200, 400}},
      {"one joins half-way", 1, {{100, 0, {a}}, {100, 50, {a}}}, {150, 200}},
      {"joining as another leaves does not share", 1, {{100, 0, {a}}, {100, 100, {a}}}, {100, 200}},
      {"joining a picosecond earlier does", 1, {{100, 0, {a}}, {100, 99, {a}}}, {101, 200}},
      {"strangers do not meet", 2, {{100, 0, {a}}, {100, 0, {b}}}, {100, 100}},
      {"a chain: the one in the middle is shared twice",
       2,
       {{100, 0, {a}}, {100, 0, {a, b}}, {100, 0, {b}}},
       {200, 200, 200}},
      {"speed-up travels along the chain", 2, {{50, 0, {a}}, {100, 0, {a, b}}, {100, 0, {b}}}, {100, 200, 200}},
      {"thirds round to the nearest picosecond", 1, {{1, 0, {a}}, {1, 0, {a}}, {2, 0, {a}}}, {3, 3, 4}},
      {"nothing to send", 1, {{0, 5, {a}}, {100, 0, {a}}}, {5, 100}},
      {"nowhere to go", 1, {{100, 5, {}}, {100, 0, {a}}}, {5, 100}},
      {"less than half a picosecond is none", 1, {{0.4, 5, {a}}}, {5}},
      {"twice over a link takes twice as long", 1, {{100, 0, {a, a}}}, {200}},
  };
  for (const auto& [name, links, sent, expected] : cases) {
    SCOPED_TRACE(name);
    EXPECT_EQ(arrivals(links, sent), expected);
  }
}

TEST(Flows, AFlowHoldsItsStreamsUntilItsLastByte) {
  TaskGraph graph;
  const std::array streams = {graph.add_stream(), graph.add_stream()};
  const std::array route = {graph.add_link(kBytePerPs)};
  graph.add_occupy(streams[1], {10});
  const TaskId flow = graph.add_flow(streams, Bytes(100), route, {3});
  const TaskId after = graph.add_occupy(streams[0], {1});
  const RunResult result = run(graph);
  EXPECT_EQ(result.start[flow.value].ps, 10);
  EXPECT_EQ(result.end[flow.value].ps, 113);
  EXPECT_EQ(result.start[after.value].ps, 113);
  EXPECT_EQ(result.makespan.ps, 114);
}

/// n flows of 1 .. n bytes times `unit` on one link: the k-th leaves when all have had k units.
TEST(Flows, AStaircaseLeavesInOrder) {
  const int n = 40;
  std::vector<Sent> sent;
  for (int k = 1; k <= n; ++k) sent.push_back({1000.0 * k, 0, {a}});
  const Ps at = arrivals(1, sent);
  std::int64_t expected = 0;
  for (int k = 1; k <= n; ++k) {
    expected += 1000 * (n - k + 1);
    EXPECT_EQ(at[static_cast<std::size_t>(k - 1)], expected);
  }
}

TEST(Flows, OnlyTheTouchedComponentGetsNewArrivals) {
  TaskGraph graph;
  const std::array one = {graph.add_link(kBytePerPs)}, two = {graph.add_link(kBytePerPs)};
  const TaskId first = graph.add_flow({}, Bytes(100), one, {0}), stranger = graph.add_flow({}, Bytes(100), two, {0});
  const TaskId second = graph.add_flow({}, Bytes(100), one, {10});
  FlowNetwork network(graph);
  const auto announced = [&](std::int64_t now) {
    std::vector<std::pair<TaskId, std::int64_t>> all;
    for (const auto& [task, at] : network.settle({now})) all.emplace_back(task, at.ps);
    return all;
  };
  using Announced = std::vector<std::pair<TaskId, std::int64_t>>;
  EXPECT_FALSE(network.on_event(first, {0}));
  EXPECT_FALSE(network.on_event(stranger, {0}));
  EXPECT_EQ(announced(0), (Announced{{first, 100}, {stranger, 100}}));
  EXPECT_FALSE(network.on_event(second, {10}));
  EXPECT_EQ(announced(10), (Announced{{first, 190}, {second, 210}}));
  EXPECT_FALSE(network.on_event(first, {100}));  // replaced
  EXPECT_TRUE(network.on_event(stranger, {100}));
  EXPECT_EQ(announced(100), Announced{});
  EXPECT_TRUE(network.on_event(first, {190}));
  EXPECT_FALSE(network.on_event(first, {190}));  // once only
  EXPECT_EQ(announced(190), (Announced{{second, 200}}));
}

}  // namespace
}  // namespace foretoken::des
