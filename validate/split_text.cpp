// Writes the parts of a step as text.
#include "validate/split_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/report/text/time_parts.h"

namespace foretoken::validate {

std::vector<std::pair<std::string_view, Seconds>> split_parts(const report::TimeSplit& split) {
  std::vector<std::pair<std::string_view, Seconds>> parts;
  for (const report::TimePart& part : report::time_parts())
    if (report::is_named(part, split)) parts.emplace_back(part.name, part.of(split));
  return parts;
}

std::string split_text(const CaseResult& result) {
  auto parts = split_parts(result.split);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [name, time] : parts) {
    const double percent = std::round(100 * (time / result.step_time));
    if (percent >= 1) words.push_back(fmt::format("{} {:.0f}", name, percent));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string signed_percent(double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); }

}  // namespace foretoken::validate
