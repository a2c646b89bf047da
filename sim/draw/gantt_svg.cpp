// Draws the Gantt chart as SVG: a row for each stage, passes above a thin strip of communication, bubbles hatched.
//
// Colours come from palette.h. Later model chunks have paler shades. Passes that are too narrow to have borders of
// their own are drawn together, as the shares of time that they take.
#include "sim/draw/gantt_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/draw/axis.h"
#include "sim/draw/gantt_keys.h"
#include "sim/draw/palette.h"
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

constexpr double kWidth = 1200, kLeft = 76, kRight = 16, kLegendLine = 22, kTitle = 26, kAxis = 30;
constexpr double kPlot = kWidth - kLeft - kRight;
constexpr double kPhoneLetters = 44;  // height of letters on a phone, where a drawing is a quarter as large
constexpr double kStrip = 0.2;        // of a row's height: the communication below the passes

constexpr const char* kGanttStyle =
    "text{font:12px system-ui,sans-serif;fill:var(--ink)}.t{font-weight:600;font-size:14px}\n"
    ".n{font-size:9px;text-anchor:middle}.g{stroke:var(--grey);stroke-opacity:.5;stroke-width:.5}\n"
    ".bg{fill:var(--panel)}.p{stroke:var(--panel);stroke-width:.7}\n";
constexpr const char* kHatching =
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
    is_dense_ = std::any_of(charts.begin(), charts.end(), [&](const Gantt& chart) { return has_density(chart); });
    if (!for_page_) legend(charts);
  }

  [[nodiscard]] double height(const std::vector<Gantt>& charts) const {
    double height = legend_height_;
    for (const Gantt& chart : charts)
      height += title_height(chart) + row_height_ * static_cast<double>(chart.rows.size()) + kAxis;
    return height;
  }

  void chart(const Gantt& chart) {
    if (for_page_)
      y_ = 0;
    else if (!chart.title.empty())
      put(text({{"class", "t"}, {"x", kLeft, 0}, {"y", y_ + 17, 1}}, chart.title));
    y_ += title_height(chart);
    const double top = y_, gap = gap_of(chart);
    const auto every = [&](double letters) { return static_cast<std::size_t>(std::ceil(letters / row_height_)); };
    for (std::size_t r = 0; r < chart.rows.size(); ++r) {
      if (r % every(12) == 0) label(chart.rows[r].label, r % every(kPhoneLetters) == 0);
      row(chart.rows[r], chart, gap);
      y_ += row_height_;
    }
    time_axis(top);
    y_ += kAxis;
  }

  [[nodiscard]] std::string take() { return std::exchange(out_, {}); }
  /// Returns the style of the classes that are drawn.
  [[nodiscard]] std::string style() const {
    return picture_palette([&](const std::string& name) { return used_.contains(name); });
  }

 private:
  // Returns a class as an attribute, and remembers it for the style.
  Attribute coloured(const std::string& name, std::string_view more = "") {
    used_.insert(name);
    return {"class", name + std::string(more)};
  }

  // Draws the legend in as many lines as it needs.
  void legend(const std::vector<Gantt>& charts) {
    constexpr double kSquare = 12, kBetween = 18;
    double x = kLeft;
    y_ = 6;
    const auto place = [&](double squares, std::string_view words) {
      const double width = squares + kLetter * static_cast<double>(words.size());
      if (x > kLeft && x + width > kWidth - kRight) {
        x = kLeft;
        y_ += kLegendLine;
      }
      put(text({{"x", x + squares, 1}, {"y", y_ + 11, 1}}, words));
      const double at = x;
      x += width + kBetween;
      return at;
    };
    for (const Key& key : gantt_keys(charts)) {
      const auto squares = static_cast<double>(key.classes.size());
      double at = place(squares * kSquare + 6, key.words);
      for (const std::string& name : key.classes) {
        put(element("rect", {coloured(name), {"x", at, 1}, {"y", y_, 1}, {"width", kSquare}, {"height", kSquare}}));
        at += kSquare;
      }
    }
    const double at = place(kSquare + 6, "bubble");
    put(element("rect", {{"fill", "url(#h)"}, {"x", at, 1}, {"y", y_, 1}, {"width", kSquare}, {"height", kSquare}}));
    if (is_dense_) place(0, density_words());
    legend_height_ = y_ += kLegendLine + 4;
  }

  // On a page the title is a heading.
  [[nodiscard]] double title_height(const Gantt& chart) const { return for_page_ || chart.title.empty() ? 4 : kTitle; }
  void put(const std::string& element) { out_ += element + "\n"; }
  [[nodiscard]] double x_of(des::Instant at) const {
    return axis_.ps == 0 ? kLeft : kLeft + kPlot * (static_cast<double>(at.ps) / static_cast<double>(axis_.ps));
  }

  [[nodiscard]] double width_of(const GanttBar& bar) const { return x_of(bar.end) - x_of(bar.begin); }
  [[nodiscard]] bool is_narrow(const GanttBar& bar) const { return width_of(bar) < kLeastPassPixels; }

  [[nodiscard]] bool has_density(const Gantt& chart) const {
    const auto hidden = [&](const GanttBar& bar) { return is_pass(bar.activity) && is_narrow(bar); };
    return gap_of(chart) > 0 || std::any_of(chart.rows.begin(), chart.rows.end(), [&](const GanttRow& row) {
             return std::any_of(row.work.begin(), row.work.end(), hidden);
           });
  }

  // Returns the longest idle time that condensing may hide to stay within the chart's rectangles; 0 draws every pass.
  [[nodiscard]] double gap_of(const Gantt& chart) const {
    std::size_t bars = 0;
    for (const GanttRow& row : chart.rows) bars += row.work.size() + row.communication.size();
    if (bars <= budget_) return 0;
    double gap = least_gap();
    while (gap < static_cast<double>(axis_.ps) && rectangles(chart, gap) > budget_) gap *= 2;
    return gap;
  }
  [[nodiscard]] double least_gap() const { return static_cast<double>(axis_.ps) * kLeastPassPixels / kPlot; }
  [[nodiscard]] static std::size_t rectangles(const Gantt& chart, double gap) {
    std::size_t count = 0;
    const auto drawn = [](double share) { return share > kLeastShare; };
    for (const GanttRow& row : chart.rows)
      for (const auto* bars : {&row.work, &row.communication})
        for (const Stretch& s : condensed(*bars, gap))
          count += static_cast<std::size_t>(std::count_if(s.share.begin(), s.share.end(), drawn));
    return count;
  }

  // Labels a row. A phone shows only some labels, without their words.
  void label(const std::string& words, bool on_phone) {
    const std::size_t number = words.rfind(' ') + 1;
    const std::string content =
        element("tspan", {{"class", "wide"}}, escaped(words.substr(0, number))) + escaped(words.substr(number));
    put(element("text",
                {{"class", on_phone ? "l" : "l wide"},
                 {"x", kLeft - 8, 0},
                 {"y", y_ + row_height_ / 2 + 4, 1},
                 {"text-anchor", "end"}},
                content));
  }

  void row(const GanttRow& row, const Gantt& chart, double gap) {
    const double end = x_of(des::Instant{} + chart.length);
    put(element("rect", {{"x", kLeft, 1},
                         {"y", y_, 1},
                         {"width", end - kLeft, 2},
                         {"height", row_height_ - 1, 1},
                         {"fill", "url(#h)"}}));
    const double strip = row.communication.empty() ? 0 : (row_height_ - 1) * kStrip;
    const double work = row_height_ - 1 - strip;
    if (gap == 0) {
      passes(row.work, chart.chunks, work);
      for (const GanttBar& bar : row.communication)
        put(element("rect", {coloured(colour_class(colour_name(bar.activity))),
                             {"x", x_of(bar.begin), 2},
                             {"y", y_ + work, 1},
                             {"width", std::max(0.3, width_of(bar)), 2},
                             {"height", strip, 1}}));
    } else {
      shares(row.work, gap, y_, work);
      shares(row.communication, gap, y_ + work, strip);
    }
  }

  // Draws each pass that is wide enough, and those between two such passes together.
  void passes(const std::vector<GanttBar>& bars, int chunks, double height) {
    std::vector<GanttBar> narrow;
    const auto flush = [&] {
      shares(narrow, least_gap(), y_, height);
      narrow.clear();
    };
    for (const GanttBar& bar : bars) {
      if (is_narrow(bar)) {
        narrow.push_back(bar);
        continue;
      }
      flush();
      pass(bar, chunks, height);
    }
    flush();
  }

  void pass(const GanttBar& bar, int chunks, double height) {
    const double x = x_of(bar.begin), width = width_of(bar);
    const int shade = is_pass(bar.activity) ? shade_of(bar.chunk, chunks) : 0;
    const std::string name = colour_class(colour_name(bar.activity), shade);
    put(element("rect", {coloured(name, " p"), {"x", x, 2}, {"y", y_, 1}, {"width", width, 2}, {"height", height, 1}}));
    const std::string number = fmt::format("{}", bar.microbatch.number());
    if (!is_pass(bar.activity) || height < 10 || width < 3 + 5.5 * static_cast<double>(number.size())) return;
    put(text({{"class", "n on" + name.substr(1)}, {"x", x + width / 2, 1}, {"y", y_ + height / 2 + 3.2, 1}}, number));
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
        put(element("rect", {coloured(colour_class(colour_name(static_cast<Activity>(k)))),
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
      put(text({{"class", tick % 2 == 0 ? "k" : "k wide"}, {"x", x, 1}, {"y", y_ + 17, 1}, {"text-anchor", "middle"}},
               tick_time(step * tick)));
    }
  }

  static constexpr double kLeastShare = 0.02;  // thinner parts are not drawn
  des::Duration axis_;
  bool for_page_;  // then the page explains the colours
  double row_height_ = 20, y_ = 0, legend_height_ = 0;
  std::size_t budget_ = kMostRectangles;  // rectangles of one chart
  bool is_dense_ = false;
  std::set<std::string> used_;  // classes
  std::string out_;
};

std::string opened_svg(double height, bool for_page) {
  return opened("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                        {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", kWidth, height)},
                        Attribute("class", "gantt").where(for_page),
                        Attribute("width", kWidth, 0).where(!for_page),
                        Attribute("height", height, 0).where(!for_page),
                        {"role", "img"}}) +
         "\n<title>Pipeline schedule over time</title>\n";
}

std::string background(double height) {
  return element("rect", {{"class", "bg"}, {"width", kWidth, 0}, {"height", height, 0}}) + "\n";
}

des::Duration longest(const std::vector<Gantt>& charts) {
  des::Duration axis;
  for (const Gantt& chart : charts) axis = std::max(axis, chart.length);
  return axis;
}

}  // namespace

std::string gantt_svg(const std::vector<Gantt>& charts) {
  GanttDrawing drawing(charts, longest(charts), false);
  const double height = drawing.height(charts);
  for (const Gantt& chart : charts) drawing.chart(chart);
  return opened_svg(height, false) + fmt::format("<style>\n{}{}</style>\n{}", kGanttStyle, drawing.style(), kHatching) +
         background(height) + drawing.take() + "</svg>\n";
}

std::string gantt_svg_for_page(const std::vector<Gantt>& charts) {
  GanttDrawing drawing(charts, longest(charts), true);
  std::string page;
  for (const Gantt& chart : charts) {
    const double height = drawing.height({chart});
    drawing.chart(chart);
    if (!chart.title.empty()) page += element("h4", {}, escaped(chart.title)) + "\n";
    page += opened_svg(height, true) + drawing.take() + "</svg>\n";
  }
  return page;
}

}  // namespace foretoken::draw
