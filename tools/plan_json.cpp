// A capacity plan as one line of JSON (docs/plan.md).
#include <nlohmann/json.hpp>

#include "sim/report/json.h"
#include "tools/plan.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json row_json(const PlanRow& row) {
  Json json = {{"cluster", row.cluster}, {"gpus", row.gpus}};
  json["impossible"] = row.impossible.empty() ? Json() : Json(row.impossible);
  if (!row.impossible.empty()) return json;
  const search::RunWithFailures& run = row.run;
  json.update({{"configuration", configuration_json(row.best)},
               {"step_time_s", row.best.metrics->step_time.value()},
               {"training_days", row.training_days},
               {"expected_days", run.expected_days},
               {"p50_days", run.p50_days},
               {"p90_days", run.p90_days},
               {"goodput", run.goodput},
               {"job_mtbf_hours", run.job_mtbf_hours},
               {"expected_failures", run.expected_failures},
               {"checkpoint_bytes", row.checkpoint_bytes},
               {"checkpoint_write_s", row.checkpoint_write_s},
               {"checkpoint_interval_s", run.checkpoint_interval_s},
               {"gpu_hours", row.gpu_hours},
               {"price_per_gpu_hour", or_null(row.price_per_gpu_hour)},
               {"cost", or_null(row.cost)},
               {"energy_mwh", or_null(row.energy_mwh)},
               {"scaling_efficiency", row.scaling_efficiency},
               {"meets_deadline", row.meets_deadline},
               {"within_budget", row.within_budget},
               {"scenario", Json::parse(row.best.text)},
               {"result", Json::parse(report::to_json(*row.best.metrics))}});
  return json;
}

}  // namespace

std::string plan_json(const Plan& plan) {
  const PlanAssumptions& assumed = plan.assumptions;
  Json json = {{"name", plan.name},
               {"tokens", assumed.tokens},
               {"deadline_days", or_null(plan.deadline_days)},
               {"budget", or_null(plan.budget)},
               {"currency", assumed.currency},
               {"assumptions",
                {{"mtbf_hours_per_gpu", assumed.mtbf_hours_per_gpu},
                 {"checkpoint_gb_per_s_per_gpu", assumed.checkpoint_gb_per_s_per_gpu},
                 {"restart_s", assumed.restart_s},
                 {"pue", assumed.pue}}},
               {"smallest", or_null(plan.smallest)},
               {"cheapest", or_null(plan.cheapest)}};
  json["options"] = Json::array();
  for (const PlanRow& row : plan.rows) json["options"].push_back(row_json(row));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretoken::tools
