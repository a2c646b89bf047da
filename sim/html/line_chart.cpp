// Writes the data of a line chart for the script in the page.
#include "sim/html/line_chart.h"

#include "sim/html/live_chart.h"

namespace foretoken::html {
namespace {

using Json = nlohmann::ordered_json;

Json series_of(const Curve& curve) {
  const bool is_ideal = curve.style == "ideal";
  Json series{{"name", curve.name}, {"style", curve.style}, {"dashed", is_ideal}, {"points", !is_ideal}};
  bool has_band = !curve.points.empty();
  for (const CurvePoint& p : curve.points) {
    series["x"].push_back(p.x);
    series["y"].push_back(rounded(p.y));
    series["hints"].push_back(p.hint);
    if (p.is_marked) series["marked"] = series["x"].size() - 1;
    has_band = has_band && p.interval;
  }
  if (has_band)
    for (const CurvePoint& p : curve.points) {
      series["low"].push_back(rounded(p.interval->first));
      series["high"].push_back(rounded(p.interval->second));
    }
  return series;
}

Json data_of(const LineChart& chart) {
  const auto [x, y] = draw::axes_of(chart);
  Json data{{"title", chart.title},
            {"aspect", chart.width / chart.height},
            {"x", json_of(x)},
            {"y", json_of(y)},
            {"series", Json::array()}};
  for (const Curve& curve : chart.curves) data["series"].push_back(series_of(curve));
  return data;
}

}  // namespace

std::string line_chart(const LineChart& chart) { return live_chart(data_of(chart), draw::line_svg(chart)); }

}  // namespace foretoken::html
