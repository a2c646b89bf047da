// Tests of composed graphs: copies run as the original does, and shared links give times computed by hand.
#include "sim/des/compose.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <vector>

#include "sim/des/plan_test.h"

namespace foretoken::des {
namespace {

std::vector<LinkId> new_links(TaskGraph& whole, const TaskGraph& part) {
  std::vector<LinkId> links;
  for (const BytesPerSecond capacity : part.links()) links.push_back(whole.add_link(capacity));
  return links;
}

Instant end_of(const RunResult& run, TaskId task) { return run.end[task.value]; }

TEST(Compose, CopiesBesideAndBehindEachOtherRunAsTheOriginal) {
  EXPECT_TRUE(rc::check("copies", [] {
    const testing::Built one = testing::build(testing::draw_plan(true, false)),
                         two = testing::build(testing::draw_plan(true, false));
    const RunResult original = run(one.graph), other = run(two.graph);
    TaskGraph whole;
    const auto links = new_links(whole, one.graph);
    const TaskId first = append(whole, one.graph, links, std::nullopt);
    const TaskId beside = append(whole, two.graph, new_links(whole, two.graph), std::nullopt);
    const TaskId behind = append(whole, one.graph, links, first);
    const RunResult all = run(whole);
    RC_ASSERT(all.stuck.empty());
    for (std::uint32_t task = 0; task < one.graph.tasks(); ++task) RC_ASSERT(all.end[task] == original.end[task]);
    RC_ASSERT(end_of(all, first) == original.makespan);
    RC_ASSERT(end_of(all, beside) == other.makespan);
    const auto shift = behind.value - static_cast<std::uint32_t>(one.graph.tasks());
    for (std::uint32_t task = 0; task < one.graph.tasks(); ++task)
      RC_ASSERT(all.start[shift + task] == later(original.makespan, original.start[task] - Instant{}));
  }));
}

TEST(Compose, PartsThatShareALinkShareItsRate) {
  TaskGraph part;
  const std::array route = {part.add_link(BytesPerSecond(1e12))};  // a byte a picosecond
  part.add_flow({}, Bytes(100), route, {});
  TaskGraph whole;
  const std::array shared = {whole.add_link(BytesPerSecond(1e12))};
  const TaskId a = append(whole, part, shared, std::nullopt), b = append(whole, part, shared, std::nullopt);
  const TaskId again = append(whole, part, shared, a);
  const RunResult all = run(whole);
  EXPECT_EQ(end_of(all, a).ps, 200);
  EXPECT_EQ(end_of(all, b).ps, 200);
  EXPECT_EQ(end_of(all, again).ps, 300) << "the other has ended by then";
}

TEST(Compose, AnEmptyPartEndsAtOnce) {
  TaskGraph whole;
  const TaskId end = append(whole, TaskGraph(), {}, std::nullopt);
  EXPECT_EQ(end_of(run(whole), end).ps, 0);
}

}  // namespace
}  // namespace foretoken::des
