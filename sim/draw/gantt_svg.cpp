// Draws the Gantt chart as SVG: a row for each stage, passes above a thin strip of communication, bubbles hatched.
//
// Colours come from the palette of Okabe and Ito (Color Universal Design, jfly.uni-koeln.de/color), which colour-blind
// readers can distinguish. Later model chunks are paler.
#include "sim/draw/gantt_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/draw/axis.h"
#include "sim/draw/svg.h"
#include "sim/report/gantt_bins.h"

namespace foretoken::draw {
namespace {

using report::Activity;
using report::condensed;
using report::Gantt;
using report::GanttBar;
using report::GanttRow;
using report::kActivities;
using report::Stretch;

constexpr double kWidth = 1200, kLeft = 76, kRight = 16, kLegend = 34, kTitle = 26, kAxis = 30;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kStrip = 0.2;  // of a row's height: the communication below the passes

constexpr const char* kGanttStyle =
    "<style>\n"
    "text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:14px}\n"
    ".n{font-size:9px;text-anchor:middle}.g{stroke:#888;stroke-opacity:.5;stroke-width:.5}.bg{fill:#fff}\n"
    ".forward{fill:#0072B2}.backward{fill:#E69F00}.step{fill:#009E73}.message{fill:#CC79A7}.data{fill:#56B4E9}\n"
    ".backward-input{fill:#D55E00}.backward-weight{fill:#F0E442}.recompute{fill:#999}\n"
    ".p{stroke:#fff;stroke-width:.5}.hatch{stroke:#bbb;stroke-width:1}.idle{fill:#f4f4f4}\n"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.bg{fill:#16181c}.idle{fill:#24272d}.hatch{stroke:#4a4f58}"
    ".p{stroke:#16181c}}\n"
    "</style>\n"
    "<defs><pattern id=\"h\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<rect class=\"idle\" width=\"6\" height=\"6\"/><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/>"
    "</pattern></defs>\n";

// Draws charts into one text.
class GanttDrawing {
 public:
  GanttDrawing(const std::vector<Gantt>& charts, des::Duration axis, bool for_page) : axis_(axis), for_page_(for_page) {
    std::size_t rows = 0;
    for (const Gantt& chart : charts) rows += chart.rows.size();
    row_height_ = std::clamp(900.0 / static_cast<double>(std::max<std::size_t>(rows, 1)), 9.0, 26.0);
    budget_ = (kMostRectangles - std::min(kMostRectangles / 2, rows + 16)) / std::max<std::size_t>(charts.size(), 1);
    any_condensed_ = std::any_of(charts.begin(), charts.end(), [&](const Gantt& chart) { return gap_of(chart) > 0; });
  }

  [[nodiscard]] double height(const std::vector<Gantt>& charts) const {
    double height = for_page_ ? 0 : kLegend;
    for (const Gantt& chart : charts)
      height += title_height(chart) + row_height_ * static_cast<double>(chart.rows.size()) + kAxis;
    return height;
  }

  void legend(const std::vector<Gantt>& charts) {
    std::vector<std::pair<std::string_view, std::string_view>> entries;  // class, meaning
    for (const report::PassKind& kind : report::passes_in(charts))
      entries.emplace_back(css_class(kind.activity), kind.name);
    for (const auto& [activity, meaning] : {std::pair{Activity::kStepEnd, "optimizer, step end"},
                                            {Activity::kMessage, "pipeline message"},
                                            {Activity::kDataParallel, "data-parallel communication"}})
      entries.emplace_back(css_class(activity), meaning);
    double x = kLeft;
    const auto entry = [&](const Attribute& fill, std::string_view name) {
      out_ += element("rect", {fill, {"x", x, 0}, {"y", "10"}, {"width", "14"}, {"height", "12"}});
      put(text({{"x", x + 19, 0}, {"y", "20"}}, name));
      x += 38 + 6.4 * static_cast<double>(name.size());
    };
    for (const auto& [style, name] : entries) entry({"class", style}, name);
    entry({"fill", "url(#h)"}, "bubble");
    if (any_condensed_) put(text({{"x", x, 0}, {"y", "20"}}, "heights are shares of time"));
    y_ = kLegend;
  }

  void chart(const Gantt& chart) {
    if (!chart.title.empty()) put(text({{"class", "t"}, {"x", kLeft, 0}, {"y", y_ + 17, 1}}, chart.title));
    y_ += title_height(chart);
    const double top = y_, gap = gap_of(chart);
    const std::size_t label_every = static_cast<std::size_t>(std::ceil(12 / row_height_));
    for (std::size_t r = 0; r < chart.rows.size(); ++r) {
      row(chart.rows[r], chart, gap, r % label_every == 0);
      y_ += row_height_;
    }
    time_axis(top);
    y_ += kAxis;
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  [[nodiscard]] static double title_height(const Gantt& chart) { return chart.title.empty() ? 4 : kTitle; }
  void put(const std::string& element) { out_ += element + "\n"; }
  [[nodiscard]] double x_of(des::Instant at) const {
    return axis_.ps == 0 ? kLeft : kLeft + kPlot * (static_cast<double>(at.ps) / static_cast<double>(axis_.ps));
  }

  // Returns the longest idle time that condensing may hide to stay within the chart's rectangles; 0 draws every pass.
  [[nodiscard]] double gap_of(const Gantt& chart) const {
    std::size_t bars = 0;
    for (const GanttRow& row : chart.rows) bars += row.work.size() + row.communication.size();
    if (bars <= budget_) return 0;
    double gap = static_cast<double>(axis_.ps) * 3 / kPlot;
    while (gap < static_cast<double>(axis_.ps) && rectangles(chart, gap) > budget_) gap *= 2;
    return gap;
  }
  [[nodiscard]] static std::size_t rectangles(const Gantt& chart, double gap) {
    std::size_t count = 0;
    const auto drawn = [](double share) { return share > kLeastShare; };
    for (const GanttRow& row : chart.rows)
      for (const auto* bars : {&row.work, &row.communication})
        for (const Stretch& s : condensed(*bars, gap))
          count += static_cast<std::size_t>(std::count_if(s.share.begin(), s.share.end(), drawn));
    return count;
  }

  void row(const GanttRow& row, const Gantt& chart, double gap, bool labelled) {
    const double end = x_of(des::Instant{} + chart.length);
    put(element("rect", {{"x", kLeft, 1},
                         {"y", y_, 1},
                         {"width", end - kLeft, 2},
                         {"height", row_height_ - 1, 1},
                         {"fill", "url(#h)"}}));
    if (labelled)
      put(text({{"x", kLeft - 8, 0}, {"y", y_ + row_height_ / 2 + 4, 1}, {"text-anchor", "end"}}, row.label));
    const double strip = row.communication.empty() ? 0 : (row_height_ - 1) * kStrip;
    const double work = row_height_ - 1 - strip;
    if (gap == 0) {
      for (const GanttBar& bar : row.work) pass(bar, chart.chunks, work);
      for (const GanttBar& bar : row.communication)
        put(element("rect", {{"class", css_class(bar.activity)},
                             {"x", x_of(bar.begin), 2},
                             {"y", y_ + work, 1},
                             {"width", std::max(0.3, x_of(bar.end) - x_of(bar.begin)), 2},
                             {"height", strip, 1}}));
    } else {
      shares(row.work, gap, y_, work);
      shares(row.communication, gap, y_ + work, strip);
    }
  }

  void pass(const GanttBar& bar, int chunks, double height) {
    const double x = x_of(bar.begin), width = x_of(bar.end) - x;
    const double opacity = is_pass(bar.activity) && chunks > 1 ? 1 - 0.5 * bar.chunk / (chunks - 1) : 1;
    put(element("rect", {{"class", std::string(css_class(bar.activity)) + (width > 3 ? " p" : "")},
                         {"x", x, 2},
                         {"y", y_, 1},
                         {"width", width, 2},
                         {"height", height, 1},
                         Attribute("fill-opacity", opacity, 2).where(opacity < 1)}));
    const std::string number = fmt::format("{}", bar.microbatch);
    if (!is_pass(bar.activity) || height < 10 || width < 3 + 5.5 * static_cast<double>(number.size())) return;
    const bool white = bar.activity == Activity::kForward && opacity > 0.7;
    put(text({{"class", "n"},
              {"style", white ? "fill:#fff" : "fill:#111"},
              {"x", x + width / 2, 1},
              {"y", y_ + height / 2 + 3.2, 1}},
             number));
  }

  // Draws stretches of time, with the shares of their activities stacked from the bottom.
  void shares(const std::vector<GanttBar>& bars, double gap, double top, double height) {
    const double scale = axis_.ps == 0 ? 0 : kPlot / static_cast<double>(axis_.ps);
    for (const Stretch& stretch : condensed(bars, gap)) {
      double bottom = top + height;
      for (std::size_t k = 0; k < kActivities; ++k) {
        if (stretch.share[k] <= kLeastShare) continue;
        const double part = height * stretch.share[k];
        bottom -= part;
        put(element("rect", {{"class", css_class(static_cast<Activity>(k))},
                             {"x", kLeft + stretch.begin * scale, 1},
                             {"y", bottom, 2},
                             {"width", std::max(0.3, (stretch.end - stretch.begin) * scale), 2},
                             {"height", part, 2}}));
      }
    }
  }

  void time_axis(double top) {
    constexpr int kTicks = 8;
    const double length = des::to_seconds(axis_).value();
    if (length <= 0) return;
    const double step = round_step(length / kTicks);
    for (int tick = 0; step * tick <= length * 1.0001; ++tick) {
      const double x = kLeft + kPlot * (step * tick / length);
      out_ += element("line", {{"class", "g"}, {"x1", x, 1}, {"x2", x, 1}, {"y1", top, 1}, {"y2", y_ + 4, 1}});
      put(text({{"x", x, 1}, {"y", y_ + 17, 1}, {"text-anchor", "middle"}}, tick_time(step * tick)));
    }
  }

  static constexpr double kLeastShare = 0.02;  // thinner parts are not drawn
  des::Duration axis_;
  bool for_page_;  // then the page explains the colours
  double row_height_ = 20, y_ = 0;
  std::size_t budget_ = kMostRectangles;  // rectangles of one chart
  bool any_condensed_ = false;
  std::string out_;
};

// Draws charts for a page, which has its own size, style and legend, or for a file, which needs them inside.
std::string drawing_of(const std::vector<Gantt>& charts, bool for_page) {
  des::Duration axis;
  for (const Gantt& chart : charts) axis = std::max(axis, chart.length);
  GanttDrawing drawing(charts, axis, for_page);
  const double height = drawing.height(charts);
  if (!for_page) drawing.legend(charts);
  for (const Gantt& chart : charts) drawing.chart(chart);
  return opened("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                        {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", kWidth, height)},
                        Attribute("class", "gantt").where(for_page),
                        Attribute("width", kWidth, 0).where(!for_page),
                        Attribute("height", height, 0).where(!for_page),
                        {"role", "img"}}) +
         "\n<title>Pipeline schedule over time</title>\n" + (for_page ? "" : kGanttStyle) +
         element("rect", {{"class", "bg"}, {"width", kWidth, 0}, {"height", height, 0}}) + "\n" + drawing.take() +
         "</svg>\n";
}

}  // namespace

std::string_view css_class(Activity activity) {
  switch (activity) {
    case Activity::kForward:
      return "forward";
    case Activity::kBackward:
      return "backward";
    case Activity::kBackwardInput:
      return "backward-input";
    case Activity::kBackwardWeight:
      return "backward-weight";
    case Activity::kRecompute:
      return "recompute";
    case Activity::kStepEnd:
      return "step";
    case Activity::kMessage:
      return "message";
    case Activity::kDataParallel:
      return "data";
  }
  return "step";
}

std::string gantt_svg(const std::vector<Gantt>& charts) { return drawing_of(charts, false); }

std::string gantt_svg_for_page(const std::vector<Gantt>& charts) { return drawing_of(charts, true); }

}  // namespace foretoken::draw
