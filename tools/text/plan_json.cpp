// Writes a capacity plan as one line of JSON (docs/user/plan.md).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/json.h"
#include "tools/text/json_csv.h"
#include "tools/text/launch_line.h"
#include "tools/text/plan_text.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json run_json(const study::PlanRow& row) {
  const search::RunWithFailures& failures = row.run.failures;
  const trust::Interval& step = *row.best.metrics->interval;
  return {{"configuration", configuration_json(row.best)},
          {"step_time_s", row.best.metrics->step_time.value()},
          {"step_time_s_interval", {step.low.value(), step.high.value()}},
          {"training_days", row.run.training_days},
          {"expected_days", failures.expected_days},
          {"p50_days", row.chances.p50_days},
          {"p90_days", row.chances.p90_days},
          {"days_interval", {row.chances.low_days, row.chances.high_days}},
          {"goodput", failures.goodput},
          {"job_mtbf_hours", failures.job_mtbf_hours},
          {"expected_failures", failures.expected_failures},
          {"checkpoint_bytes", row.checkpoint_bytes},
          {"checkpoint_write_s", row.checkpoint_write_s},
          {"checkpoint_interval_s", failures.checkpoint_interval_s},
          {"gpu_hours", row.run.gpu_hours},
          {"price_per_gpu_hour", or_null(row.price_per_gpu_hour)},
          {"cost", or_null(row.run.cost)},
          {"energy_mwh", or_null(row.run.energy_mwh)}};
}

// The ends of the intervals: of the fastest and of the slowest run.
Json intervals_json(const study::PlanRow& row) {
  Json json;
  const auto ends = [&](const char* key, auto value_of) {
    json[fmt::format("{}_interval", key)] = {value_of(row.fast), value_of(row.slow)};
  };
  ends("training_days", [](const study::PlannedRun& run) { return run.training_days; });
  ends("expected_days", [](const study::PlannedRun& run) { return run.failures.expected_days; });
  ends("gpu_hours", [](const study::PlannedRun& run) { return run.gpu_hours; });
  ends("cost", [](const study::PlannedRun& run) { return or_null(run.cost); });
  ends("energy_mwh", [](const study::PlannedRun& run) { return or_null(run.energy_mwh); });
  if (!row.run.cost) json["cost_interval"] = nullptr;
  if (!row.run.energy_mwh) json["energy_mwh_interval"] = nullptr;
  return json;
}

Json row_json(const study::PlanRow& row) {
  Json json = {{"cluster", row.cluster}, {"gpus", row.gpus}};
  json["impossible"] = row.impossible.empty() ? Json() : Json(row.impossible);
  if (!row.impossible.empty()) return json;
  json.update(run_json(row));
  json.update(intervals_json(row));
  json.update({{"scaling_efficiency", row.scaling_efficiency},
               {"chance_of_deadline", row.chances.deadline},
               {"meets_deadline", row.chances.deadline >= study::kEnoughChance},
               {"chance_of_budget", or_null(row.chances.budget)},
               {"within_budget", row.chances.budget ? Json(*row.chances.budget >= study::kEnoughChance) : Json()},
               {"chance", or_null(row.chances.both())},
               {"scenario", Json::parse(row.best.text)},
               {"result", Json::parse(report::to_json(*row.best.metrics))}});
  return json;
}

}  // namespace

std::string plan_json(const study::Plan& plan) {
  const study::PlanAssumptions& assumed = plan.assumptions;
  Json json = {{"name", plan.name},
               {"command", plan.command},
               {"version", plan.version},
               {"tokens", assumed.tokens},
               {"deadline_days", or_null(plan.deadline_days)},
               {"budget", or_null(plan.budget)},
               {"currency", assumed.currency},
               {"interval_level", plan.level},
               {"assumptions",
                {{"mtbf_hours_per_gpu", assumed.mtbf_hours_per_gpu},
                 {"checkpoint_gb_per_s_per_gpu", assumed.checkpoint_gb_per_s_per_gpu},
                 {"restart_s", assumed.restart_s},
                 {"pue", assumed.pue}}},
               {"smallest", or_null(plan.smallest)},
               {"winner", plan.smallest ? launch_line_json(plan.rows[*plan.smallest].best) : Json()},
               {"cheapest", or_null(plan.cheapest)}};
  json["options"] = Json::array();
  for (const study::PlanRow& row : plan.rows) json["options"].push_back(row_json(row));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string plan_csv(const study::Plan& plan) {
  Json rows = Json::array();
  for (const study::PlanRow& row : plan.rows) {
    rows.push_back(row_json(row));
    rows.back().erase("scenario");
  }
  return csv_of(rows);
}

}  // namespace foretoken::tools
