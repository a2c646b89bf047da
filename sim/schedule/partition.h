// Deals the layers of a model out to pipeline stages by their times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken::schedule {

/// Returns the layers of each stage for which the slowest stage is fastest. `times` holds the time of every layer in
/// forward order, in any unit. Every stage has a layer. Of several such partitions it returns one whose stages are most
/// alike (the least sum of squares), with the larger stages last.
///
/// This is the aim of PipeDream's dynamic programme (arXiv:1806.03377, section 3.1), where every stage has the same
/// number of replicas and messages between stages are equally long.
/// Precondition: 1 <= stages <= number of layers; times are not negative.
[[nodiscard]] std::vector<int> partition(std::span<const std::int64_t> times, int stages);

}  // namespace foretoken::schedule
