// Compares the event queue with a sorted list.
#include "sim/des/event_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <map>

namespace foretoken::des {
namespace {

std::vector<std::uint32_t> pop(EventQueue& queue) {
  std::vector<TaskId> due;
  queue.pop_instant(due);
  std::vector<std::uint32_t> tasks;
  for (const TaskId task : due) tasks.push_back(task.value);
  return tasks;
}

TEST(EventQueue, EarliestFirstAndEqualTimesInOrderOfInsertion) {
  EXPECT_TRUE(rc::check("as a sorted list", [] {
    EventQueue queue;
    std::multimap<std::int64_t, std::uint32_t> sorted;  // keeps the order of insertion among equals
    const int steps = *rc::gen::inRange(0, 300);
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(steps); ++i) {
      if (sorted.empty() || *rc::gen::inRange(0, 5) < 3) {
        const int bits = *rc::gen::inRange(0, 58);
        const std::int64_t at = queue.now().ps + *rc::gen::inRange<std::int64_t>(0, (std::int64_t{1} << bits) + 1);
        queue.push({at}, {i});
        sorted.emplace(at, i);
      } else {
        const auto [first, last] = sorted.equal_range(sorted.begin()->first);
        std::vector<std::uint32_t> expected;
        for (auto it = first; it != last; ++it) expected.push_back(it->second);
        const std::int64_t at = first->first;
        sorted.erase(first, last);
        RC_ASSERT(pop(queue) == expected);
        RC_ASSERT(queue.now().ps == at);
      }
      RC_ASSERT(queue.empty() == sorted.empty());
      RC_ASSERT(queue.more_now() == (sorted.count(queue.now().ps) > 0));
    }
  }));
}

TEST(EventQueue, HoldsTheWholeRangeOfTime) {
  const std::int64_t last = std::numeric_limits<std::int64_t>::max();
  EventQueue queue;
  queue.push({last}, {0});
  queue.push({0}, {1});
  queue.push({last - 1}, {2});
  queue.push({0}, {3});
  EXPECT_EQ(pop(queue), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(pop(queue), std::vector<std::uint32_t>{2});
  EXPECT_EQ(pop(queue), std::vector<std::uint32_t>{0});
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, TheClockNeverGoesBack) {
  EventQueue queue;
  queue.push({5}, {0});
  EXPECT_EQ(pop(queue).size(), 1U);
  queue.push({5}, {1});  // now is not the past
  EXPECT_TRUE(queue.more_now());
  EXPECT_DEATH(queue.push({4}, {2}), "may not be scheduled in the past");
  EXPECT_EQ(pop(queue).size(), 1U);
  EXPECT_DEATH(pop(queue), "no next event");
}

}  // namespace
}  // namespace foretoken::des
