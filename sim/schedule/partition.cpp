// Finds the shortest slowest stage by bisection, then the partition most alike within it by a dynamic programme.
#include "sim/schedule/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

/// Returns true when `stages` stages of at most `limit` hold all layers, with a layer on each.
bool fit(std::span<const std::int64_t> times, int stages, std::int64_t limit) {
  int used = 1;
  std::int64_t filled = 0;
  for (const std::int64_t time : times) {
    if (time > limit) return false;
    if (filled + time > limit) {
      ++used;
      filled = 0;
    }
    filled += time;
  }
  return used <= stages;  // fewer stages can be split further, as there are enough layers
}

std::int64_t shortest_limit(std::span<const std::int64_t> times, int stages) {
  std::int64_t low = *std::ranges::max_element(times);
  std::int64_t high = std::accumulate(times.begin(), times.end(), std::int64_t{0});
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fit(times, stages, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

}  // namespace

std::vector<int> partition(std::span<const std::int64_t> times, int stages) {
  const auto layers = static_cast<int>(times.size());
  expects(stages >= 1 && stages <= layers, "every stage has a layer");
  const std::int64_t limit = shortest_limit(times, stages);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto at = [&](int stage, int layer) {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(layers + 1) + static_cast<std::size_t>(layer);
  };
  // The least sum of squares of the first `stage` stages over the first `layer` layers, and the layers of the last one.
  std::vector<double> least(at(stages, layers) + 1, kNever);
  std::vector<int> taken(least.size(), 0);
  least[at(0, 0)] = 0;
  for (int stage = 1; stage <= stages; ++stage)
    for (int layer = stage; layer <= layers - (stages - stage); ++layer) {
      std::int64_t length = 0;
      for (int count = 1; layer - count >= stage - 1; ++count) {
        length += times[static_cast<std::size_t>(layer - count)];
        if (length > limit) break;
        const auto time = static_cast<double>(length);
        const double sum = least[at(stage - 1, layer - count)] + time * time;
        if (sum < kNever && sum <= least[at(stage, layer)]) {
          least[at(stage, layer)] = sum;
          taken[at(stage, layer)] = count;
        }
      }
    }
  std::vector<int> counts(static_cast<std::size_t>(stages));
  for (int stage = stages, layer = layers; stage > 0; --stage) {
    const int count = taken[at(stage, layer)];
    counts[static_cast<std::size_t>(stage - 1)] = count;
    layer -= count;
  }
  return counts;
}

}  // namespace foretoken::schedule
