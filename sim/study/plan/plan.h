// A capacity plan: clusters and sizes, each with its best configuration, how long the run takes and what it costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/study/scenario_source.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/goodput.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// Assumptions of the plan beside the scenario; docs/user/plan.md has the sources of the defaults.
struct PlanAssumptions {
  double tokens = 0;
  std::optional<double> price_per_gpu_hour;  ///< in place of the clusters' own
  std::string currency = "USD";
  double mtbf_hours_per_gpu = 50'000;          ///< arXiv:2407.21783: 419 interruptions, 54 days, 16,384 GPUs
  std::optional<double> checkpoint_write_s;    ///< in place of size over bandwidth
  double checkpoint_gb_per_s_per_gpu = 0.122;  ///< arXiv:2407.21783: 2 TB/s sustained for 16,384 GPUs
  double restart_s = 600;
  double pue = 1.1;  ///< arXiv:2302.13971, section 6
};

struct PlanQuestion {
  ScenarioSource scenario;
  std::vector<std::string> sets;      ///< overrides, in order
  std::vector<std::string> clusters;  ///< empty: the scenario's
  search::SpaceOptions space;         ///< its sizes: all are tried
  PlanAssumptions assumptions;
  std::optional<double> deadline_days, budget;
  double level = trust::kUsualLevel;  ///< of intervals
  std::size_t threads = 1;
};

/// The whole run at one step time.
struct PlannedRun {
  double training_days = 0;  ///< without failures and checkpoints
  search::RunWithFailures failures;
  double gpu_hours = 0;  ///< of the expected days
  std::optional<double> cost, energy_mwh;
  bool meets_deadline = true, within_budget = true;
};

/// One cluster at one size.
struct PlanRow {
  std::string cluster;
  int gpus = 0;
  std::string impossible;  ///< why there is no configuration; empty: there is one
  FoundConfiguration best;
  double checkpoint_bytes = 0, checkpoint_write_s = 0;
  std::optional<double> price_per_gpu_hour;
  PlannedRun run, fast, slow;     ///< at the predicted step time, and at the ends of its interval
  double scaling_efficiency = 1;  ///< tokens/s per GPU, relative to this cluster's smallest size that works
};

struct Plan {
  std::string name;
  PlanAssumptions assumptions;
  std::optional<double> deadline_days, budget;
  double level = trust::kUsualLevel;
  std::vector<PlanRow> rows;                      ///< clusters in the order asked, sizes upwards
  std::optional<std::size_t> smallest, cheapest;  ///< rows that meet deadline and budget as predicted; the cheapest by
                                                  ///< cost, without prices by GPU hours
};

/// Searches every cluster and size. Throws ConfigError when the question itself is wrong.
[[nodiscard]] Plan make_plan(const PlanQuestion& question);

}  // namespace foretoken::study
