// Figures that can be read by pointing at them.
#include "sim/html/live_chart.h"

#include <fmt/format.h>

#include <string>

#include "sim/html/markup.h"

namespace foretoken::html {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string live_chart(const Json& data, std::string_view drawing) {
  return fmt::format(
      "<figure class=\"live\"><script type=\"application/json\">{}</script>\n<div class=\"static\">{}</div></figure>\n",
      script_json(data.dump()), drawing);
}

Json json_of(const AxisData& axis) {
  Json ticks = Json::array();
  for (const auto& [value, label] : axis.ticks) ticks.push_back({rounded(value), label});
  return {{"title", axis.title},
          {"logarithmic", axis.is_logarithmic},
          {"low", rounded(axis.low)},
          {"high", rounded(axis.high)},
          {"ticks", std::move(ticks)}};
}

double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

}  // namespace foretoken::html
