// Measures the time that intervals cover.
#include "sim/base/intervals.h"

#include <algorithm>

namespace foretoken {

std::int64_t Coverage::add(std::vector<Interval> intervals) {
  const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_begin))
    std::sort(intervals.begin(), intervals.end(), by_begin);
  std::vector<Interval> all(intervals.size() + union_.size());
  std::merge(intervals.begin(), intervals.end(), union_.begin(), union_.end(), all.begin(), by_begin);
  std::vector<Interval> merged;
  for (const Interval& next : all) {
    if (next.end <= next.begin) continue;
    if (!merged.empty() && next.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, next.end);
    } else {
      merged.push_back(next);
    }
  }
  std::int64_t total = 0;
  for (const Interval& part : merged) total += part.end - part.begin;
  const std::int64_t fresh = total - covered_;
  union_ = std::move(merged);
  covered_ = total;
  return fresh;
}

}  // namespace foretoken
