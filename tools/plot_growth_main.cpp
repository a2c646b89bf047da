// Draws how times grow: reads the JSON of Google Benchmark, writes an SVG, prints the exponent of each family.
// docs/contributor/performance.md says how to run it.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/draw/scatter_svg.h"

namespace {

using foretoken::draw::Series;
using Points = std::vector<std::pair<double, double>>;

// Returns the median CPU time by size of each family. A benchmark is named FAMILY/SIZE; repetitions have an aggregate.
std::map<std::string, Points> families_of(const nlohmann::json& report) {
  std::map<std::string, Points> families;
  for (const nlohmann::json& run : report.at("benchmarks")) {
    if (run.value("aggregate_name", "median") != "median") continue;
    if (run.at("run_type") == "iteration" && run.at("repetitions").get<int>() > 1) continue;
    const auto name = run.at("run_name").get<std::string>();
    const std::size_t slash = name.rfind('/');
    families[name.substr(0, slash)].emplace_back(std::stod(name.substr(slash + 1)), run.at("cpu_time").get<double>());
  }
  return families;
}

// Returns the slope of the least-squares line through the logarithms. Precondition: two sizes or more.
double exponent_of(const Points& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [size, time] : points) {
    const double a = std::log(size), b = std::log(time);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr double kLargest = 100, kBound = 1.05;
  if (argc != 3) {
    fmt::print(stderr, "usage: foretoken-plot-growth BENCHMARK.json OUT.svg\n");
    return 2;
  }
  std::ifstream in(argv[1]);
  std::vector<Series> series;
  bool all_within = true;
  for (const auto& [family, points] : families_of(nlohmann::json::parse(in))) {
    if (points.size() < 2) throw std::runtime_error(family + ": expected two sizes or more");
    const double exponent = exponent_of(points);
    fmt::print("{:40} {:.3f}\n", family, exponent);
    all_within = all_within && exponent <= kBound;
    Series one{.name = fmt::format("{} {:.2f}", family, exponent), .points = {}};
    for (const auto& [size, time] : points)
      one.points.emplace_back(size / points.front().first, time / points.front().second);
    series.push_back(std::move(one));
  }
  std::ofstream out(argv[2]);
  out << foretoken::draw::scatter_svg(
      "Growth of CPU time; lines: exponents 1 and 1.05", {"size over the least", 1, kLargest, true, 1},
      {"time over that of the least", 1, kLargest, true, 1}, series,
      {{{1, 1}, {kLargest, kLargest}}, {{1, 1}, {std::pow(kLargest, 1 / kBound), kLargest}}});
  if (!out.flush()) throw std::runtime_error(fmt::format("{}: cannot be written", argv[2]));
  return all_within ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "foretoken-plot-growth: {}\n", error.what());
  return 2;
}
