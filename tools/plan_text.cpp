// A capacity plan for people: at most 120 columns.
#include <fmt/format.h>

#include <algorithm>

#include "sim/report/number.h"
#include "sim/report/text.h"
#include "tools/plan.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using report::Table;

std::string money(double amount, const std::string& currency) {
  return fmt::format("{} {}", report::in_words(amount), currency);
}

std::string table_text(const Plan& plan, const Paint& paint) {
  const auto any = [&](auto test) { return std::any_of(plan.rows.begin(), plan.rows.end(), test); };
  const bool costs = any([](const PlanRow& row) { return row.cost.has_value(); });
  const bool asked = plan.deadline_days || plan.budget;
  std::vector<Table::Column> heads{{"cluster", Table::Align::kLeft},
                                   {"GPUs"},
                                   {"step"},
                                   {"MFU"},
                                   {"scaling"},
                                   {"days"},
                                   {"P50"},
                                   {"P90"},
                                   {"goodput"},
                                   {"GPU hours"}};
  if (costs) heads.push_back({"cost"});
  heads.push_back({"MWh"});
  if (asked) heads.push_back({"meets", Table::Align::kLeft});
  Table table(std::move(heads));
  for (const PlanRow& row : plan.rows) {
    if (!row.impossible.empty()) {
      table.add_note({row.cluster, fmt::format("{}", row.gpus)}, row.impossible);
      continue;
    }
    const report::Metrics& m = *row.best.metrics;
    std::vector<std::string> cells{row.cluster,
                                   fmt::format("{}", row.gpus),
                                   report::time_text(m.step_time),
                                   report::percent(m.mfu),
                                   report::percent(row.scaling_efficiency),
                                   report::significant(row.training_days, 3),
                                   report::significant(row.run.p50_days, 3),
                                   report::significant(row.run.p90_days, 3),
                                   report::percent(row.run.goodput),
                                   report::whole(row.gpu_hours)};
    if (costs) cells.push_back(row.cost ? report::in_words(*row.cost) : "n/a");
    cells.push_back(row.energy_mwh ? report::significant(*row.energy_mwh, 3) : "n/a");
    if (asked)
      cells.emplace_back(!row.meets_deadline ? "late" : row.within_budget ? "yes" : row.cost ? "dear" : "unpriced");
    table.add(std::move(cells));
  }
  return table.text(paint);
}

std::string row_words(const Plan& plan, const PlanRow& row) {
  std::string words = fmt::format("{} GPUs of {}: done in {} days (P50; P90 {}), {} GPU hours", row.gpus, row.cluster,
                                  report::significant(row.run.p50_days, 3), report::significant(row.run.p90_days, 3),
                                  report::whole(row.gpu_hours));
  if (row.cost) words += ", " + money(*row.cost, plan.assumptions.currency);
  return words + fmt::format(". {}.", configuration_words(row.best.candidate));
}

std::string verdict_text(const Plan& plan, const Paint& paint) {
  if (!plan.smallest) {
    const bool asked = plan.deadline_days || plan.budget;
    return paint(Ink::kRed,
                 asked ? "  No cluster of these meets deadline and budget." : "  No cluster of these fits.") +
           '\n';
  }
  std::string text = report::paragraph("  Smallest: ", row_words(plan, plan.rows[*plan.smallest]));
  if (plan.cheapest != plan.smallest)
    text += report::paragraph("  Cheapest: ", row_words(plan, plan.rows[*plan.cheapest]));
  return text;
}

std::string failures_text(const Plan& plan, const Paint& paint) {
  std::string text = report::title_text("Failures", "of the smallest cluster that will do", paint);
  const PlanRow& row = plan.rows[*plan.smallest];
  return text + report::paragraph(
                    "  ", fmt::format(
                              "An interruption every {} hours, {} in the run; a checkpoint of {} every {} (best by "
                              "Daly), {} to write; {} to restart. Goodput {}.",
                              report::significant(row.run.job_mtbf_hours, 3),
                              report::significant(row.run.expected_failures, 3),
                              report::decimal_bytes(Bytes(row.checkpoint_bytes)),
                              report::days_text(row.run.checkpoint_interval_s / 86400),
                              report::time_text(Seconds(row.checkpoint_write_s)),
                              report::days_text(plan.assumptions.restart_s / 86400), report::percent(row.run.goodput)));
}

}  // namespace

std::string plan_text(const Plan& plan, const Paint& paint) {
  const PlanAssumptions& assumed = plan.assumptions;
  std::string text = paint(Ink::kBold, plan.name) + '\n';
  std::string asked = fmt::format("{} tokens", report::in_words(assumed.tokens));
  if (plan.deadline_days) asked += fmt::format(", within {} days", report::plain(*plan.deadline_days));
  if (plan.budget) asked += ", for at most " + money(*plan.budget, assumed.currency);
  text += report::paragraph("  ", asked + ".") + '\n' + table_text(plan, paint);
  text +=
      "  days: without failures; P50, P90: with failures and checkpoints; scaling: tokens/s per GPU against\n"
      "  the cluster's smallest size; GPU hours, cost and energy of the expected time\n\n";
  text += verdict_text(plan, paint);
  if (plan.smallest) text += failures_text(plan, paint);
  text += report::title_text("Assumed", "", paint);
  text += report::paragraph(
      "  ", fmt::format("{} hours between interruptions of one GPU (arXiv:2407.21783: 419 in 54 days on 16,384 GPUs); "
                        "energy of GPUs at their TDP times PUE {}; hosts and network not counted.",
                        report::whole(assumed.mtbf_hours_per_gpu), report::plain(assumed.pue)));
  return text;
}

}  // namespace foretoken::tools
