// Makes axes of charts: round ticks and their labels.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::draw {

struct AxisData {
  std::string_view title{};
  bool is_logarithmic = false;
  double low = 0, high = 1;
  std::vector<std::pair<double, std::string>> ticks{};  ///< values and their labels
};

/// Returns the least number of the form 1, 2 or 5 times a power of ten that is no less than `least`.
[[nodiscard]] double round_step(double least);

/// Returns round numbers that divide [low, high] into about `count` intervals.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int count);

/// Writes seconds for an axis: "20 s", "2.5 ms"; 0 is "0".
[[nodiscard]] std::string tick_time(double seconds);

}  // namespace foretoken::draw
