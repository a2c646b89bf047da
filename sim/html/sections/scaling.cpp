// Shows the same job on fewer and on more GPUs: throughput, days, cost.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "sim/html/line_chart.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {
namespace {

using report::Metrics;

std::string hint(const study::Variant& variant, const std::string& value) {
  return fmt::format("{}: {}", report::counted(variant.gpus, "GPU"), value);
}

// The direction in which a value moves when the step takes longer.
enum class WithTime { kGrows, kShrinks };

std::optional<std::pair<double, double>> band_of(const Metrics& m, double value, WithTime with) {
  const auto range = with == WithTime::kGrows ? report::range_of(m, value) : report::range_of_rate(m, value);
  return range ? std::optional(std::pair(range->low, range->high)) : std::nullopt;
}

template <class Value, class Words>
Curve curve_of(const ReportData& data, std::string_view style, WithTime with, Value value, Words words) {
  Curve curve{.style = style, .points = {}};
  for (const study::Variant& each : data.scaling)
    if (each.metrics)
      curve.points.push_back({.x = static_cast<double>(each.gpus),
                              .y = value(*each.metrics),
                              .interval = band_of(*each.metrics, value(*each.metrics), with),
                              .hint = hint(each, words(*each.metrics)),
                              .is_marked = each.is_base});
  return curve;
}

std::string throughput_chart(const ReportData& data) {
  Curve measured = curve_of(
      data, "s1", WithTime::kShrinks, [](const Metrics& m) { return m.tokens_per_s; },
      [](const Metrics& m) { return report::significant(m.tokens_per_s) + " tokens/s"; });
  Curve ideal{.style = "ideal", .points = {}};
  for (const CurvePoint& p : measured.points)
    ideal.points.push_back({.x = p.x, .y = measured.points.front().y * p.x / measured.points.front().x});
  return line_chart({.title = "Tokens a second",
                     .x_title = "GPUs (dashed: in proportion)",
                     .curves = {ideal, measured},
                     .logarithmic_y = true,
                     .y_label = [](double y) { return report::in_words(y); }});
}

std::string days_chart(const ReportData& data) {
  return line_chart({.title = "Days of the whole run",
                     .x_title = "GPUs",
                     .curves = {curve_of(
                         data, "s1", WithTime::kGrows, [](const Metrics& m) { return m.run->days; },
                         [](const Metrics& m) { return report::days_text(m.run->days); })},
                     .logarithmic_y = true,
                     .y_label = [](double y) { return report::plain(y); }});
}

std::string cost_chart(const ReportData& data, const std::string& currency) {
  return line_chart({.title = "Cost of the whole run, " + currency,
                     .x_title = "GPUs",
                     .curves = {curve_of(
                         data, "s1", WithTime::kGrows, [](const Metrics& m) { return *m.run->cost; },
                         [](const Metrics& m) { return in_words3(*m.run->cost) + ' ' + m.run->currency; })},
                     .logarithmic_y = false,
                     .y_label = [](double y) { return report::in_words(y); }});
}

std::string mfu_chart(const ReportData& data) {
  return line_chart({.title = "MFU",
                     .x_title = "GPUs",
                     .curves = {curve_of(
                         data, "s1", WithTime::kShrinks, [](const Metrics& m) { return m.mfu; },
                         [](const Metrics& m) { return report::percent(m.mfu); })},
                     .logarithmic_y = false,
                     .y_label = [](double y) { return report::plain(100 * y) + " %"; }});
}

std::string table_of(const ReportData& data, const study::Variant& first) {
  const bool has_run = data.base.metrics.run.has_value();
  const bool has_cost = has_run && data.base.metrics.run->cost;
  std::vector<Table::Head> heads{{"GPUs"},       {"data parallel"}, {"step"},       {"tokens/s"},
                                 {"efficiency"}, {"MFU"},           {"fits", false}};
  if (has_run) heads.push_back({"days"});
  if (has_cost) heads.push_back({data.base.metrics.run->currency});
  Table table(heads);
  const double each_first = first.metrics->tokens_per_s_per_gpu;
  const net::RankGrid grid = data.base.job.grid();
  const int replica = grid.gpus() / grid.degree(Axis::kData);
  for (const study::Variant& each : data.scaling) {
    const Table::Cell gpus = Table::number(each.gpus, report::whole(each.gpus));
    if (!each.metrics) {
      table.add({gpus, Table::text(each.why_not)});
      continue;
    }
    const Metrics& m = *each.metrics;
    const int data_parallel = each.gpus / replica;
    std::vector<Table::Cell> cells{
        gpus,
        Table::number(data_parallel, report::whole(data_parallel)),
        Table::number(m.step_time.value(), report::time_text(m.step_time)),
        Table::number(m.tokens_per_s, report::significant(m.tokens_per_s)),
        Table::number(m.tokens_per_s_per_gpu / each_first, report::percent(m.tokens_per_s_per_gpu / each_first)),
        Table::number(m.mfu, report::percent(m.mfu)),
        Table::text(m.memory.fits ? "yes" : "no")};
    const auto with_range = [&](double value, const std::string& text, std::string (*words)(report::Range)) {
      const auto range = report::range_of(m, value);
      cells.push_back(Table::number(value, text, range ? std::optional(words(*range)) : std::nullopt));
    };
    if (has_run) with_range(m.run->days, report::significant(m.run->days, 3), report::number_range);
    if (has_cost) with_range(*m.run->cost, in_words3(*m.run->cost), report::words_range);
    table.add(std::move(cells), each.is_base);
  }
  return table.html();
}

}  // namespace

std::string scaling(const ReportData& data) {
  const study::Variant* first = nullptr;
  std::size_t known = 0;
  for (const study::Variant& each : data.scaling) {
    if (!each.metrics) continue;
    if (first == nullptr) first = &each;
    ++known;
  }
  if (known < 2) return "";
  std::string html = paragraph(
      "The same batch on fewer and on more GPUs: more replicas have fewer micro-batches each. Efficiency is tokens/s "
      "per GPU, relative to the smallest cluster shown. The ringed point is this scenario; bands hold nine in ten "
      "runs.");
  html += "<div class=\"pair\">\n" + throughput_chart(data);
  const auto& run = data.base.metrics.run;
  if (run) html += days_chart(data);
  if (run && run->cost) html += cost_chart(data, run->currency);
  html += mfu_chart(data) + "</div>\n";
  return html + table_of(data, *first);
}

}  // namespace foretoken::html
