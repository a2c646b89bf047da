// Makes the series of a validation's plots.
#include "validate/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/draw/scatter_svg.h"
#include "validate/split_text.h"

namespace foretoken::validate {
namespace {

using draw::Guide;
using draw::Point;
using draw::scatter_svg;
using draw::Series;

// Makes one series for each set with measured steps. `place` returns the point of a case.
template <class Place>
std::vector<Series> series_of(const Validation& validation, bool labels, Place place) {
  std::vector<Series> all;
  for (const SetResult& result : validation.sets) {
    Series one{.name = result.set.name, .points = {}, .labels = {}};
    for (const CaseResult& row : result.cases)
      if (const Comparison* step = row.find(Quantity::kStepTime)) {
        one.points.push_back(place(row, *step));
        if (labels)
          one.labels.push_back(fmt::format("{}: measured {:.4g} s, predicted {:.4g} s, {}", row.row.id, step->measured,
                                           step->predicted, signed_percent(step->error())));
      }
    if (!one.points.empty()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

std::string steps_plot(const Validation& validation, bool labels) {
  const std::vector<Series> series = series_of(validation, labels, [](const CaseResult&, const Comparison& step) {
    return Point{step.measured, step.predicted};
  });
  double low = 1, high = 1;
  for (const Series& one : series)
    for (const auto& [measured, predicted] : one.points) {
      low = std::min({low, measured, predicted});
      high = std::max({high, measured, predicted});
    }
  low = std::pow(10, std::floor(std::log10(low)));
  high = std::pow(10, std::ceil(std::log10(high)));
  constexpr double kTenPercent = 1.1;
  const std::vector<Guide> guides{{{low, low}, {high, high}},
                                  {{low, low * kTenPercent}, {high / kTenPercent, high}},
                                  {{low * kTenPercent, low}, {high, high / kTenPercent}}};
  return scatter_svg("Step time; lines: equal, and 10 % apart", {"measured, s", low, high, true, 1},
                     {"predicted, s", low, high, true, 1}, series, guides);
}

std::string errors_plot(const Validation& validation, bool labels) {
  constexpr double kFewest = 1, kMost = 10'000, kWidest = 40;
  const std::vector<Series> series = series_of(validation, labels, [](const CaseResult& row, const Comparison& step) {
    return Point{static_cast<double>(row.gpus), 100 * step.error()};
  });
  return scatter_svg("Error of the step time by GPU count", {"GPUs", kFewest, kMost, true, 1},
                     {"error, %; beyond 40 on the edge", -kWidest, kWidest, false, 10}, series,
                     {{{kFewest, 0}, {kMost, 0}}});
}

}  // namespace foretoken::validate
