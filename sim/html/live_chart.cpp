// Makes figures that show their values to a pointer.
#include "sim/html/live_chart.h"

#include <fmt/format.h>

#include <string>

#include "sim/base/parse_number.h"
#include "sim/html/markup.h"

namespace foretoken::html {

std::string live_chart(const nlohmann::ordered_json& data, std::string_view drawing) {
  return fmt::format(
      "<figure class=\"live\"><script type=\"application/json\">{}</script>\n<div class=\"static\">{}</div></figure>\n",
      script_json(data.dump()), drawing);
}

nlohmann::ordered_json json_of(const AxisData& axis) {
  auto ticks = nlohmann::ordered_json::array();
  for (const auto& [value, label] : axis.ticks) ticks.push_back({rounded(value), label});
  return {{"title", axis.title},
          {"logarithmic", axis.is_logarithmic},
          {"low", rounded(axis.low)},
          {"high", rounded(axis.high)},
          {"ticks", std::move(ticks)}};
}

double rounded(double value) { return round_to_digits(value, 5); }

}  // namespace foretoken::html
