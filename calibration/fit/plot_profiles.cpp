// Two panels with logarithmic sizes; a is drawn solid, b dashed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "calibration/fit/diff_profiles.h"
#include "calibration/fit/typical_work.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kWidth = 460, kHeight = 300, kLeft = 60, kTop = 40, kGap = 90, kStepsPerOctave = 8;

/// One panel: a curve over log2 of a size for each profile.
struct Panel {
  std::string title, unit;
  double first_log2, last_log2;
  std::function<double(const cost::Profile&, double size)> value;
  std::function<std::string(double log2)> label;
  double left = kLeft;
};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

double x_of(const Panel& panel, double log2) {
  return panel.left + kWidth * (log2 - panel.first_log2) / (panel.last_log2 - panel.first_log2);
}

std::vector<double> sizes(const Panel& panel) {
  std::vector<double> all;
  for (double at = panel.first_log2; at <= panel.last_log2; at += 1 / kStepsPerOctave) all.push_back(at);
  return all;
}

std::string curve(const Panel& panel, const cost::Profile& profile, double top, const char* style) {
  std::string points;
  for (const double at : sizes(panel))
    points += fmt::format("{:.1f},{:.1f} ", x_of(panel, at),
                          kTop + kHeight * (1 - panel.value(profile, std::exp2(at)) / top));
  return fmt::format("<polyline fill=\"none\" stroke-width=\"1.5\" {} points=\"{}\"/>\n", style, points);
}

std::string axes(const Panel& panel, double top) {
  std::string text = fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
                                 panel.left, kTop, kWidth, kHeight) +
                     fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", panel.left, kTop - 10, panel.title);
  for (int part = 0; part <= 4; ++part)
    text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>\n", panel.left - 6,
                        kTop + kHeight * (1 - part / 4.0) + 4, top * part / 4);
  for (double at = panel.first_log2; at <= panel.last_log2; at += 2)
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x_of(panel, at),
                        kTop + kHeight + 16, panel.label(at));
  return text + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", panel.left, kTop + kHeight + 32, panel.unit);
}

std::string drawn(const Panel& panel, const cost::Profile& a, const cost::Profile& b) {
  double top = 0;
  for (const double at : sizes(panel))
    for (const cost::Profile* profile : {&a, &b}) top = std::max(top, panel.value(*profile, std::exp2(at)));
  top *= 1.05;
  return axes(panel, top) + curve(panel, a, top, "stroke=\"#1f77b4\"") +
         curve(panel, b, top, "stroke=\"#d62728\" stroke-dasharray=\"5 3\"");
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
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             width, height) +
         drawn(products, a, b) + drawn(reduces, a, b) +
         fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#1f77b4\">{}</text>\n", kLeft, height - 12, escaped(a.name)) +
         fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#d62728\">{} (dashed)</text>\n</svg>\n", kLeft + kWidth + kGap,
                     height - 12, escaped(b.name));
}

}  // namespace foretoken::fit
