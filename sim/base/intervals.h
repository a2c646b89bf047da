// Measures the time that intervals cover, and counts each instant once.
#pragma once

#include <cstdint>
#include <vector>

namespace foretoken {

/// A half-open interval of integer time.
struct Interval {
  std::int64_t begin = 0, end = 0;
};

/// The union of the intervals added so far. It counts every instant once. Add the most important kind first: an instant
/// then counts for its most important kind.
class Coverage {
 public:
  /// Adds `intervals` (any order, may overlap) and returns the length that was not covered before.
  std::int64_t add(std::vector<Interval> intervals);
  [[nodiscard]] std::int64_t covered() const { return covered_; }

 private:
  std::vector<Interval> union_;  // disjoint, sorted
  std::int64_t covered_ = 0;
};

}  // namespace foretoken
