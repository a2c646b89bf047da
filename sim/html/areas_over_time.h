// Makes figures of stacked areas over time. Pointing at a figure shows its values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::html {

/// Areas have a value for each of so many equal parts of the time.
inline constexpr std::size_t kTimeBins = 460;

/// One kind of things, stacked on the areas before it.
struct Area {
  std::string name;
  std::string_view style;      ///< class of its colour (draw/palette.h)
  std::vector<double> values;  ///< of each bin
};

struct AreasOverTime {
  std::string title;
  std::vector<Area> areas;
  double seconds = 1;                                     ///< of all bins
  double high = 1;                                        ///< end of the value axis
  std::string_view unit{};                                ///< " GiB"; written at zero
  std::optional<std::pair<std::string, double>> limit{};  ///< a dashed line with its name
};

/// Returns the figure (live_chart.h). Precondition: every area has kTimeBins values.
[[nodiscard]] std::string areas_over_time(const AreasOverTime& chart);

}  // namespace foretoken::html
