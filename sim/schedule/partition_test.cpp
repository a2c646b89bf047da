// Tests partitions against the dynamic programme of PipeDream, and against hand-made cases.
#include "sim/schedule/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace foretoken::schedule {
namespace {

// arXiv:1806.03377 section 3.1, with one replica a stage and free messages: A(j, m) is the least time of the slowest of
// m stages over the first j layers.
std::int64_t pipedreams_slowest(const std::vector<std::int64_t>& times, std::size_t layers, int stages) {
  if (layers < static_cast<std::size_t>(stages)) return std::numeric_limits<std::int64_t>::max();
  if (stages == 1)
    return std::accumulate(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(layers), std::int64_t{0});
  std::int64_t best = std::numeric_limits<std::int64_t>::max(), last = 0;
  for (std::size_t before = layers - 1; before > 0; --before) {
    last += times[before];
    best = std::min(best, std::max(last, pipedreams_slowest(times, before, stages - 1)));
  }
  return best;
}

std::int64_t slowest(const std::vector<std::int64_t>& times, const std::vector<int>& counts) {
  std::int64_t most = 0;
  std::size_t at = 0;
  for (const int count : counts) {
    std::int64_t sum = 0;
    for (int layer = 0; layer < count; ++layer) sum += times[at++];
    most = std::max(most, sum);
  }
  EXPECT_EQ(at, times.size());
  return most;
}

TEST(Partition, TheSlowestStageIsAsFastAsPipeDreams) {
  std::mt19937 random(11);
  for (int run = 0; run < 500; ++run) {
    std::vector<std::int64_t> times(1 + random() % 9);
    for (std::int64_t& time : times) time = static_cast<std::int64_t>(random() % 20);
    const int stages = 1 + static_cast<int>(random() % times.size());
    SCOPED_TRACE(testing::PrintToString(times) + " on " + std::to_string(stages));
    const std::vector<int> counts = partition(times, stages);
    EXPECT_GE(*std::ranges::min_element(counts), 1);
    EXPECT_EQ(slowest(times, counts), pipedreams_slowest(times, times.size(), stages));
  }
}

TEST(Partition, EqualLayersAreDealtEvenlyAndEndsTakeFewer) {
  const std::vector<std::int64_t> equal(12, 10);
  EXPECT_EQ(partition(equal, 4), std::vector<int>({3, 3, 3, 3}));
  EXPECT_EQ(partition(equal, 5), std::vector<int>({2, 2, 2, 3, 3}));
  std::vector<std::int64_t> with_head = equal;
  with_head.back() += 12;  // the head takes more than a layer
  EXPECT_EQ(partition(with_head, 4), std::vector<int>({3, 3, 4, 2}));
  EXPECT_EQ(partition(equal, 12), std::vector<int>(12, 1));
}

}  // namespace
}  // namespace foretoken::schedule
