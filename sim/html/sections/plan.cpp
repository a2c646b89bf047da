// Shows a capacity plan: clusters and sizes against deadline and budget.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/html/line_chart.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"
#include "sim/report/text/range.h"

namespace foretoken::html {
namespace {

std::string words_of(const study::PlanOption& option) {
  return fmt::format("{} of {}", report::counted(option.gpus, "GPU"), option.cluster);
}

// Writes a value with its range on one line: "24.6 (23.1-26.4)".
std::string with_range(std::string text, const std::optional<report::Range>& range,
                       std::string (*words)(report::Range)) {
  return range ? fmt::format("{} ({})", text, unbroken(words(*range))) : text;
}

std::string days_of(double days, const std::optional<report::Range>& range) {
  return with_range(report::significant(days, 3), range, report::number_range);
}

Table::Cell number_cell(double value, const std::string& text, const std::optional<report::Range>& range,
                        std::string (*words)(report::Range)) {
  return Table::number(value, text, range ? std::optional(words(*range)) : std::nullopt);
}

std::string conclusion(const study::PlanSummary& plan) {
  std::string text = fmt::format("{} tokens", report::in_words(plan.tokens));
  if (plan.deadline_days) text += fmt::format(", within {}", report::days_text(*plan.deadline_days));
  if (plan.budget) text += fmt::format(", for at most {} {}", report::in_words(*plan.budget), plan.currency);
  text += ". ";
  const study::PlanOption *smallest = nullptr, *cheapest = nullptr;
  for (const study::PlanOption& option : plan.options) {
    if (option.is_smallest) smallest = &option;
    if (option.is_cheapest) cheapest = &option;
  }
  if (smallest == nullptr && cheapest == nullptr) return text + "No cluster and size of the plan meets this.";
  if (smallest != nullptr)
    text +=
        fmt::format("The smallest: {}. Half of such runs are done in {} days, nine in ten in {}. ", words_of(*smallest),
                    days_of(smallest->p50_days, smallest->days_range), report::significant(smallest->p90_days, 3));
  if (cheapest != nullptr && cheapest->cost)
    text +=
        fmt::format("The cheapest: {} for {} {}. ", words_of(*cheapest),
                    with_range(in_words3(*cheapest->cost), cheapest->cost_range, report::words_range), plan.currency);
  if (smallest != nullptr && smallest->chance && (plan.deadline_days || plan.budget))
    text += fmt::format("Its chance to meet the limits is {}. ", report::chance(*smallest->chance));
  if (smallest != nullptr && smallest->days_range) text += "In brackets: the interval of such runs.";
  return text;
}

std::optional<std::pair<double, double>> band_of(const std::optional<report::Range>& range) {
  return range ? std::optional(std::pair(range->low, range->high)) : std::nullopt;
}

std::string axis_label(double value) { return report::in_words(value); }

// Draws one value by size, with a curve for each cluster, at most two. A cluster has one colour in all charts.
template <class Value>
std::string chart(const study::PlanSummary& plan, const std::vector<std::string_view>& clusters,
                  const std::string& title, Value point_of) {
  std::map<std::string_view, Curve> curves;
  for (const study::PlanOption& option : plan.options) {
    if (!option.impossible.empty()) continue;
    std::optional<CurvePoint> point = point_of(option);
    if (!point) continue;
    curves[option.cluster].points.push_back(std::move(*point));
  }
  if (curves.empty() || clusters.size() > 2) return "";
  LineChart drawing{.title = title, .x_title = "GPUs", .curves = {}, .logarithmic_y = true, .y_label = axis_label};
  for (const std::string_view cluster : clusters) {
    if (!curves.contains(cluster)) continue;
    curves[cluster].style = cluster == clusters.front() ? "s1" : "s2";
    drawing.curves.push_back(curves[cluster]);
  }
  return line_chart(drawing);
}

std::string charts(const study::PlanSummary& plan) {
  const auto days = [](const study::PlanOption& option) {
    return std::optional(
        CurvePoint{.x = static_cast<double>(option.gpus),
                   .y = option.p50_days,
                   .interval = band_of(option.days_range),
                   .hint = fmt::format("{}: P50 {}, P90 {}", words_of(option), report::days_text(option.p50_days),
                                       report::days_text(option.p90_days)),
                   .is_marked = option.is_smallest});
  };
  const auto cost = [&](const study::PlanOption& option) -> std::optional<CurvePoint> {
    if (!option.cost) return std::nullopt;
    return CurvePoint{.x = static_cast<double>(option.gpus),
                      .y = *option.cost,
                      .interval = band_of(option.cost_range),
                      .hint = fmt::format("{}: {} {}", words_of(option), in_words3(*option.cost), plan.currency),
                      .is_marked = option.is_cheapest};
  };
  std::vector<std::string_view> clusters;
  for (const study::PlanOption& option : plan.options)
    if (option.impossible.empty() && std::find(clusters.begin(), clusters.end(), option.cluster) == clusters.end())
      clusters.push_back(option.cluster);
  const std::string names =
      clusters.size() == 2 ? legend({{{"c-first"}, std::string(clusters[0])}, {{"c-second"}, std::string(clusters[1])}})
                           : std::string();
  return names + "<div class=\"pair\">\n" + chart(plan, clusters, "Days until done (P50)", days) +
         chart(plan, clusters, "Cost, " + plan.currency, cost) + "</div>\n";
}

// The chance to meet the limits; plans of older versions have none.
std::string verdict_word(const study::PlanOption& option) {
  if (option.chance) return report::chance(*option.chance);
  if (!option.meets_deadline) return "too late";
  if (!option.within_budget) return "unknown";
  return *option.within_budget ? "yes" : "too dear";
}

void add_row(Table& table, const study::PlanOption& option) {
  const Table::Cell cluster = Table::text(option.cluster),
                    gpus = Table::number(option.gpus, report::whole(option.gpus));
  if (!option.impossible.empty()) {
    table.add({cluster, gpus, Table::text(option.impossible)});
    return;
  }
  table.add(
      {cluster, gpus, Table::text(verdict_word(option)),
       number_cell(option.p50_days, report::significant(option.p50_days, 3), option.days_range, report::number_range),
       Table::number(option.p90_days, report::significant(option.p90_days, 3)),
       Table::number(option.goodput, report::percent(option.goodput)),
       Table::number(option.scaling_efficiency, report::percent(option.scaling_efficiency)),
       option.cost ? number_cell(*option.cost, report::letters(*option.cost), option.cost_range, report::letters_range)
                   : Table::text("n/a"),
       option.energy_mwh ? Table::number(*option.energy_mwh, report::significant(*option.energy_mwh, 3))
                         : Table::text("n/a"),
       Table::text(option.configuration)},
      option.is_smallest || option.is_cheapest);
}

// The assumptions of the plan, and the command that made it.
std::string made_by(const study::PlanSummary& plan) {
  std::string html;
  if (!plan.assumptions.empty())
    html += paragraph(fmt::format("The plan assumes {}.", fmt::join(plan.assumptions, "; ")), "remark");
  if (!plan.command.empty())
    html += paragraph(fmt::format("Made by Foretoken {} with {}", plan.version, plan.command), "remark");
  return html;
}

}  // namespace

std::string plan(const ReportData& data) {
  if (!data.plan) return "";
  const study::PlanSummary& plan = *data.plan;
  Table table({{"cluster", false},
               {"GPUs"},
               {"chance", false},
               {"P50 days"},
               {"P90 days"},
               {"goodput"},
               {"efficiency"},
               {plan.currency},
               {"MWh"},
               {"configuration", false}});
  for (const study::PlanOption& option : plan.options) add_row(table, option);
  return fmt::format("<p class=\"lead\">{}</p>\n", escaped(conclusion(plan))) + charts(plan) + table.html(true) +
         paragraph(
             "P50 and P90: half and nine in ten of such runs are done by then; both count failures, checkpoints and "
             "the "
             "error of the predicted step. Small numbers and bands: the interval of days and cost of such runs. "
             "Chance: of meeting deadline and budget; one half is enough. Energy: GPUs at their power limit, times "
             "PUE. The sections below show the cheapest option "
             "that meets the plan, else the smallest, else the first possible one.",
             "remark") +
         made_by(plan);
}

}  // namespace foretoken::html
