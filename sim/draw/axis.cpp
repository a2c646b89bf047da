// Chooses ticks: steps of 1, 2 or 5 times a power of ten.
#include "sim/draw/axis.h"

#include <fmt/format.h>

#include <cmath>

namespace foretoken::draw {

double round_step(double least) {
  const double magnitude = std::pow(10, std::floor(std::log10(least)));
  const double ratio = least / magnitude;
  return (ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1) * magnitude;
}

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low)) return {low};
  const double step = round_step((high - low) / count);
  std::vector<double> ticks;
  for (double k = std::ceil(low / step - 1e-9) + 0.0; k * step <= high + 1e-9 * step; ++k) ticks.push_back(k * step);
  return ticks;
}

std::string tick_time(double seconds) {
  if (seconds == 0) return "0";
  const double scale = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
  return fmt::format("{:.4g} {}", seconds * scale, scale == 1 ? "s" : scale == 1e3 ? "ms" : "us");
}

}  // namespace foretoken::draw
