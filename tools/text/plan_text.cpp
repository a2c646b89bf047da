// Writes a capacity plan as text.
#include "tools/text/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/report/text/number.h"
#include "sim/report/text/range.h"
#include "sim/report/text/text.h"
#include "tools/text/launch_line.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using report::Table;

std::string money(double amount, const std::string& currency) {
  return fmt::format("{} {}", report::in_words3(amount), currency);
}

// The columns of a row: each predicted value, and below it the ends of its interval.
struct Cells {
  std::vector<std::string> predicted, ends;
  void add(std::string value, std::string range = "") {
    predicted.push_back(std::move(value));
    ends.push_back(std::move(range));
  }
};

// Returns the chance of a row to meet all limits: "87 %".
std::string chance_word(const study::PlanRow& row) {
  const std::optional<double> chance = row.chances.both();
  return chance ? report::chance(*chance) : "unknown";
}

Cells cells_of(const study::PlanRow& row, bool costs, bool asked) {
  const report::Metrics& m = *row.best.metrics;
  Cells cells;
  cells.add(row.cluster);
  cells.add(fmt::format("{}", row.gpus));
  cells.add(report::percent(m.mfu));
  cells.add(report::percent(row.scaling_efficiency));
  cells.add(report::significant(row.chances.p50_days, 3),
            report::number_range({row.chances.low_days, row.chances.high_days}));
  cells.add(report::significant(row.chances.p90_days, 3));
  cells.add(report::percent(row.run.failures.goodput));
  cells.add(report::letters(row.run.gpu_hours), report::letters_range({row.fast.gpu_hours, row.slow.gpu_hours}));
  if (costs && row.run.cost)
    cells.add(report::letters(*row.run.cost), report::letters_range({*row.fast.cost, *row.slow.cost}));
  else if (costs)
    cells.add("n/a");
  if (asked) cells.add(chance_word(row));
  return cells;
}

std::string_view limits_words(const study::Plan& plan) {
  if (plan.deadline_days && plan.budget) return "deadline and budget";
  return plan.budget ? "the budget" : "the deadline";
}

std::string table_text(const study::Plan& plan, const Paint& paint) {
  const bool costs =
      std::any_of(plan.rows.begin(), plan.rows.end(), [](const study::PlanRow& row) { return row.run.cost; });
  const bool asked = plan.deadline_days || plan.budget;
  std::vector<Table::Column> heads{{"cluster", Table::Align::kLeft},     {"GPUs"},     {"MFU"},
                                   {"scaling", Table::Align::kRight, 2}, {"P50 days"}, {"P90 days"},
                                   {"goodput", Table::Align::kRight, 1}, {"GPU hours"}};
  if (costs) heads.push_back({plan.assumptions.currency});
  if (asked) heads.push_back({"chance"});
  Table table(std::move(heads));
  for (const study::PlanRow& row : plan.rows) {
    if (!row.impossible.empty()) {
      table.add_note({row.cluster, fmt::format("{}", row.gpus)}, row.impossible);
      continue;
    }
    Cells cells = cells_of(row, costs, asked);
    for (std::string& end : cells.ends) end = paint(Ink::kDim, end);
    table.add(std::move(cells.predicted));
    table.add(std::move(cells.ends));
  }
  return table.text(paint);
}

std::string legend_text(const study::Plan& plan, const Paint& paint) {
  const bool any =
      std::any_of(plan.rows.begin(), plan.rows.end(), [](const study::PlanRow& row) { return row.impossible.empty(); });
  if (!any) return "";
  std::string text =
      paint.paragraph("  ",
                      "P50, P90: half and nine in ten of such runs are done by then; both count failures, checkpoints "
                      "and the error of the predicted step. scaling: tokens/s per GPU against the cluster's smallest "
                      "size; GPU hours and cost: of the expected time") +
      fmt::format("  below each row: {:.0f} % of such runs lie between\n", 100 * plan.level);
  if (plan.deadline_days || plan.budget)
    text +=
        fmt::format("  chance: of meeting {}; {:.0f} % is enough\n", limits_words(plan), 100 * study::kEnoughChance);
  return text;
}

std::string row_words(const study::Plan& plan, const study::PlanRow& row) {
  std::string words =
      fmt::format("{} of {}: done in {} days (P50; P90 {}; {} without failures), a step in {}, {} GPU hours",
                  report::counted(row.gpus, "GPU"), row.cluster, report::significant(row.chances.p50_days, 3),
                  report::significant(row.chances.p90_days, 3), report::significant(row.run.training_days, 3),
                  report::time_text(row.best.metrics->step_time), report::whole(row.run.gpu_hours));
  if (row.run.energy_mwh) words += fmt::format(", {} MWh", report::significant(*row.run.energy_mwh, 3));
  if (row.run.cost) words += ", " + money(*row.run.cost, plan.assumptions.currency);
  words += fmt::format(". {:.0f} % of such runs: {} days", 100 * plan.level,
                       report::number_range({row.chances.low_days, row.chances.high_days}));
  if (row.run.cost)
    words += fmt::format(", {} {}", report::words_range({*row.fast.cost, *row.slow.cost}), plan.assumptions.currency);
  words += fmt::format(". {}.", study::configuration_words(row.best));
  if (study::filled(row.best) > report::kEdgeOfMemory)
    words += fmt::format(" It fills {} of the memory: try it before you rely on it.",
                         report::percent(study::filled(row.best)));
  if (plan.deadline_days || plan.budget)
    words += fmt::format(" The chance to meet {} is {}.", limits_words(plan), chance_word(row));
  return words;
}

// Names the fastest and the cheapest row when no row meets deadline and budget.
std::string nearest_text(const study::Plan& plan, const Paint& paint) {
  const study::PlanRow *fastest = nullptr, *least = nullptr;
  for (const study::PlanRow& row : plan.rows) {
    if (!row.impossible.empty()) continue;
    if (fastest == nullptr || row.chances.p90_days < fastest->chances.p90_days) fastest = &row;
    if (row.run.cost && (least == nullptr || *row.run.cost < *least->run.cost)) least = &row;
  }
  std::string text;
  if (fastest != nullptr) text += paint.paragraph("  Fastest: ", row_words(plan, *fastest));
  if (least != nullptr && least != fastest) text += paint.paragraph("  Least cost: ", row_words(plan, *least));
  return text;
}

std::string verdict_text(const study::Plan& plan, const Paint& paint) {
  if (!plan.smallest) {
    const std::string nearest = nearest_text(plan, paint);
    return paint(Ink::kRed, plan.rows.empty() ? "  Interrupted before a row was found."
                            : nearest.empty() ? "  None of these is possible."
                                              : fmt::format("  No cluster of these meets {} with a chance of {:.0f} %.",
                                                            limits_words(plan), 100 * study::kEnoughChance)) +
           '\n' + nearest;
  }
  const bool same = plan.cheapest == plan.smallest;
  std::string text =
      paint.paragraph(same ? "  Smallest and cheapest: " : "  Smallest: ", row_words(plan, plan.rows[*plan.smallest]));
  if (!same) text += paint.paragraph("  Cheapest: ", row_words(plan, plan.rows[*plan.cheapest]));
  return text;
}

// Names the clusters without a known price.
std::string unpriced_text(const study::Plan& plan, const Paint& paint) {
  std::vector<std::string> names;
  bool priced = false;
  for (const study::PlanRow& row : plan.rows) {
    priced = priced || row.run.cost;
    if (!row.impossible.empty() || row.run.cost) continue;
    if (std::find(names.begin(), names.end(), row.cluster) == names.end()) names.push_back(row.cluster);
  }
  if (names.empty() || (!priced && !plan.budget)) return "";
  return paint.paragraph("  ", fmt::format("No price is known for {}: set one with --price, or price_per_gpu_hour "
                                           "in the cluster's file.",
                                           fmt::join(names, ", ")));
}

// Returns every warning once. A warning of only some rows begins with their sizes.
std::vector<std::string> warnings_of(const study::Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> rows_of;  // by warning
  std::size_t possible = 0;
  for (const study::PlanRow& row : plan.rows) {
    if (!row.impossible.empty()) continue;
    ++possible;
    for (const std::string& warning : row.best.metrics->warnings) {
      auto known = std::ranges::find(rows_of, warning, &decltype(rows_of)::value_type::first);
      if (known == rows_of.end()) known = rows_of.insert(rows_of.end(), {warning, {}});
      known->second.push_back(fmt::format("{} of {}", report::counted(row.gpus, "GPU"), row.cluster));
    }
  }
  std::vector<std::string> warnings;
  for (const auto& [warning, rows] : rows_of)
    warnings.push_back(rows.size() == possible ? warning : fmt::format("{}: {}", fmt::join(rows, ", "), warning));
  return warnings;
}

std::string failures_text(const study::Plan& plan, const Paint& paint) {
  std::string text = report::title_text("Failures", "of the smallest cluster that meets the question", paint);
  const study::PlanRow& row = plan.rows[*plan.smallest];
  const search::RunWithFailures& run = row.run.failures;
  return text + paint.paragraph(
                    "  ", fmt::format(
                              "An interruption every {} hours, {} in the run; a checkpoint of {} every {} (best by "
                              "Daly), {} to write; {} to restart. Goodput {}.",
                              report::significant(run.job_mtbf_hours, 3), report::significant(run.expected_failures, 3),
                              report::decimal_bytes(Bytes(row.checkpoint_bytes)),
                              report::days_text(run.checkpoint_interval_s / 86400),
                              report::time_text(Seconds(row.checkpoint_write_s)),
                              report::days_text(plan.assumptions.restart_s / 86400), report::percent(run.goodput)));
}

}  // namespace

std::string plan_text(const study::Plan& plan, const Paint& paint) {
  const study::PlanAssumptions& assumed = plan.assumptions;
  std::string text = paint.name(plan.name);
  std::string asked = fmt::format("{} tokens", report::in_words(assumed.tokens));
  if (plan.deadline_days)
    asked += fmt::format(", within {} day{}", report::plain(*plan.deadline_days), *plan.deadline_days == 1 ? "" : "s");
  if (plan.budget) asked += fmt::format(", for at most {} {}", report::in_words(*plan.budget), assumed.currency);
  text += paint.paragraph("  ", asked + ".") + '\n' + table_text(plan, paint);
  text += legend_text(plan, paint) + '\n';
  text += verdict_text(plan, paint) + unpriced_text(plan, paint);
  if (plan.smallest) text += failures_text(plan, paint) + launch_line_text(plan.rows[*plan.smallest].best, paint);
  text += report::warnings_text(warnings_of(plan), paint);
  text += report::title_text("Assumed", "", paint);
  const bool is_usual = assumed.mtbf_hours_per_gpu == study::PlanAssumptions{}.mtbf_hours_per_gpu;
  text += paint.paragraph(
      "  ",
      fmt::format(
          "{} hours between interruptions of one GPU{}; energy of GPUs at their power limit times PUE {}; hosts and "
          "network not counted.",
          report::plain(assumed.mtbf_hours_per_gpu),
          is_usual ? " (arXiv:2407.21783: 419 in 54 days on 16,384 GPUs)" : "", report::plain(assumed.pue)));
  return text;
}

}  // namespace foretoken::tools
