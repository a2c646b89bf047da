// Tests that ids of different kinds never stand for one another, and that tables and ranges follow their numbers.
#include "sim/base/ids.h"

#include <gtest/gtest.h>

#include <concepts>
#include <vector>

#include "sim/base/table.h"

namespace foretoken {
namespace {

template <class A, class B>
concept Compares = requires(A a, B b) {
  a == b;
};
template <class Table, class Index>
concept Indexed = requires(Table table, Index index) {
  table[index];
};

static_assert(!std::convertible_to<int, Stage> && !std::convertible_to<Stage, int>);
static_assert(!Compares<Gpu, Rank> && !Compares<NodeId, HostId>, "a domain of several hosts is one node");
static_assert(Indexed<PerStage<int>, Stage> && !Indexed<PerStage<int>, Chunk> && !Indexed<PerStage<int>, int>);

TEST(Ids, CountFromNought) {
  std::vector<Stage> stages;
  for (const Stage stage : ids<Stage>(3)) stages.push_back(stage);
  EXPECT_EQ(numbers_of(stages), (std::vector{0, 1, 2}));
  EXPECT_EQ(stages[1].next(), stages[2]);
}

TEST(Ids, ATableHasOneValueForEachId) {
  PerStage<int> squares(4);
  for (const Stage stage : squares.ids()) squares[stage] = stage.number() * stage.number();
  EXPECT_EQ(squares.values(), (std::vector{0, 1, 4, 9}));
  EXPECT_EQ(squares.end_id(), Stage{4});
}

}  // namespace
}  // namespace foretoken
