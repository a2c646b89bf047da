// Draws two panels with logarithmic sizes. Profile a is drawn solid, b dashed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "calibration/fit/profiles/diff_profiles.h"
#include "calibration/fit/profiles/typical_work.h"
#include "sim/cost/costs.h"
#include "sim/draw/svg.h"

namespace foretoken::fit {
namespace {

constexpr double kWidth = 460, kHeight = 300, kLeft = 60, kTop = 40, kGap = 90, kStepsPerOctave = 8;

struct Style {
  const char* colour;
  bool dashed;
};
constexpr Style kFirst{"#1f77b4", false}, kSecond{"#d62728", true};

/// One panel: a curve over log2 of a size for each profile.
struct Panel {
  std::string title, unit;
  double first_log2, last_log2;
  std::function<double(const cost::Profile&, double size)> value;
  std::function<std::string(double log2)> label;
  double left = kLeft;
};

double x_of(const Panel& panel, double log2) {
  return panel.left + kWidth * (log2 - panel.first_log2) / (panel.last_log2 - panel.first_log2);
}

std::vector<double> sizes(const Panel& panel) {
  std::vector<double> all;
  for (double at = panel.first_log2; at <= panel.last_log2; at += 1 / kStepsPerOctave) all.push_back(at);
  return all;
}

std::string curve(const Panel& panel, const cost::Profile& profile, double top, Style style) {
  std::string points;
  for (const double at : sizes(panel))
    points += fmt::format("{:.1f},{:.1f} ", x_of(panel, at),
                          kTop + kHeight * (1 - panel.value(profile, std::exp2(at)) / top));
  return draw::element("polyline", {{"fill", "none"},
                                    {"stroke-width", "1.5"},
                                    {"stroke", style.colour},
                                    draw::Attribute("stroke-dasharray", "5 3").where(style.dashed),
                                    {"points", points}}) +
         "\n";
}

std::string axes(const Panel& panel, double top) {
  std::string svg = draw::element("rect", {{"x", panel.left},
                                           {"y", kTop},
                                           {"width", kWidth},
                                           {"height", kHeight},
                                           {"fill", "none"},
                                           {"stroke", "#888"}}) +
                    "\n" + draw::text({{"x", panel.left}, {"y", kTop - 10}}, panel.title) + "\n";
  for (int part = 0; part <= 4; ++part) {
    const double y = kTop + kHeight * (1 - part / 4.0) + 4;
    svg += draw::text({{"x", panel.left - 6}, {"y", y, 1}, {"text-anchor", "end"}},
                      fmt::format("{:.0f}", top * part / 4)) +
           "\n";
  }
  for (double at = panel.first_log2; at <= panel.last_log2; at += 2)
    svg += draw::text({{"x", x_of(panel, at), 1}, {"y", kTop + kHeight + 16}, {"text-anchor", "middle"}},
                      panel.label(at)) +
           "\n";
  return svg + draw::text({{"x", panel.left}, {"y", kTop + kHeight + 32}}, panel.unit) + "\n";
}

std::string drawn(const Panel& panel, const cost::Profile& a, const cost::Profile& b) {
  double top = 0;
  for (const double at : sizes(panel))
    for (const cost::Profile* profile : {&a, &b}) top = std::max(top, panel.value(*profile, std::exp2(at)));
  top *= 1.05;
  return axes(panel, top) + curve(panel, a, top, kFirst) + curve(panel, b, top, kSecond);
}

double square_tflops(const cost::Profile& profile, double size) {
  const auto edge = static_cast<std::int64_t>(std::llround(size));
  const GemmShape shape{.m = edge, .n = edge, .k = edge, .precision = Precision::kFp16};
  if (profile.gemm.count(shape.precision) == 0) return 0;
  return shape.flop().value() / cost::gemm_time(shape, profile).value() / 1e12;
}

double all_reduce_bus(const cost::Profile& profile, double bytes) {
  const CollectiveShape shape{CollectiveKind::kAllReduce, Bytes(bytes), {.ranks = 8, .nodes = 1, .ranks_per_node = 8}};
  return 2.0 * 7 / 8 * bytes / cost::collective_time(shape, eight_gpu_node(profile), profile).value() / 1e9;
}

std::string bytes_label(double log2) {
  constexpr const char* kUnits[] = {"", "k", "M", "G"};
  const auto thousand = static_cast<std::size_t>(log2 / 10);
  return fmt::format("{:.0f}{}", std::exp2(log2 - 10.0 * static_cast<double>(thousand)), kUnits[thousand]);
}

}  // namespace

std::string plot_profiles(const cost::Profile& a, const cost::Profile& b) {
  const Panel products{"fp16 products n x n x n, TFLOP/s", "n", 7, 15, square_tflops, [](double log2) {
                         return fmt::format("{:.0f}", std::exp2(log2));
                       }};
  const Panel reduces{
      "all-reduce of 8 GPUs in a node, bus GB/s", "bytes", 12, 32, all_reduce_bus, bytes_label, kLeft + kWidth + kGap};
  const double width = kLeft + 2 * kWidth + kGap + 20, height = kTop + kHeight + 70;
  const std::string head = draw::opened("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                                                {"width", width},
                                                {"height", height},
                                                {"viewBox", fmt::format("0 0 {} {}", width, height)},
                                                {"font-family", "sans-serif"},
                                                {"font-size", "12"}});
  const std::string names =
      draw::text({{"x", kLeft}, {"y", height - 12}, {"fill", kFirst.colour}}, a.name) + "\n" +
      draw::text({{"x", kLeft + kWidth + kGap}, {"y", height - 12}, {"fill", kSecond.colour}}, b.name + " (dashed)");
  return head + "\n" + drawn(products, a, b) + drawn(reduces, a, b) + names + "\n</svg>\n";
}

}  // namespace foretoken::fit
