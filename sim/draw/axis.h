// Axes of charts: round ticks and their labels.
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

/// The least of 1, 2 and 5 times a power of ten that is no less than `least`.
[[nodiscard]] double round_step(double least);

/// Round numbers that part [low, high] into about `count` intervals.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int count);

/// Seconds as an axis shows them: "20 s", "2.5 ms"; 0 is "0".
[[nodiscard]] std::string tick_time(double seconds);

}  // namespace foretoken::draw
