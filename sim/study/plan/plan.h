// Makes a capacity plan: the best configuration for each cluster and size, with the time and the cost of the run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/study/scenario_source.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/goodput.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// Assumptions of the plan that no scenario has. docs/user/plan.md has the sources of the defaults.
struct PlanAssumptions {
  double tokens = 0;
  std::optional<double> price_per_gpu_hour;  ///< instead of the clusters' own prices
  std::string currency = "USD";
  double mtbf_hours_per_gpu = 50'000;          ///< arXiv:2407.21783: 419 interruptions, 54 days, 16,384 GPUs
  std::optional<double> checkpoint_write_s;    ///< instead of size over bandwidth
  double checkpoint_gb_per_s_per_gpu = 0.122;  ///< arXiv:2407.21783: 2 TB/s sustained for 16,384 GPUs
  double restart_s = 600;
  double pue = 1.1;  ///< arXiv:2302.13971, section 6
};

struct PlanQuestion {
  ScenarioSource scenario;
  std::vector<std::string> sets;      ///< overrides, in order
  std::vector<std::string> frees;     ///< keys that the user frees; the runtime must have them
  std::vector<std::string> clusters;  ///< empty: the scenario's
  search::SpaceOptions space;         ///< the plan tries each of its sizes
  PlanAssumptions assumptions;
  std::optional<double> deadline_days, budget;
  double level = trust::kUsualLevel;  ///< of intervals
  std::size_t threads = 1;
};

/// The whole run with one step time.
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
  std::string impossible;  ///< the reason when there is no configuration; empty when there is one
  FoundConfiguration best;
  double checkpoint_bytes = 0, checkpoint_write_s = 0;
  std::optional<double> price_per_gpu_hour;
  PlannedRun run, fast, slow;     ///< with the predicted step time, and with the ends of its interval
  double scaling_efficiency = 1;  ///< tokens/s per GPU, relative to this cluster's smallest size that works
};

struct Plan {
  std::string name;
  PlanAssumptions assumptions;
  std::optional<double> deadline_days, budget;
  double level = trust::kUsualLevel;
  std::vector<PlanRow> rows;  ///< clusters in the order asked, sizes upwards
  /// Rows that meet deadline and budget as predicted. The cheapest has the least cost, or the fewest GPU hours when no
  /// price is known.
  std::optional<std::size_t> smallest, cheapest;
};

/// Searches every cluster and size. Throws ConfigError when the question is wrong.
[[nodiscard]] Plan make_plan(const PlanQuestion& question);

}  // namespace foretoken::study
