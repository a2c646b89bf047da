// Makes a capacity plan: the best configuration for each cluster and size, with the time and the cost of the run.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/process/watch.h"
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
};

/// A chance at least this large counts as meeting a limit.
inline constexpr double kEnoughChance = 0.5;

/// The end of a run when both its step and its failures are uncertain, and the chances that it meets the limits.
struct RunChances {
  double p50_days = 0, p90_days = 0;  ///< half, and nine in ten, of such runs are done by then
  /// Between them lies the part of runs that intervals are to hold: those of the step's interval, and those of the
  /// errors and failures drawn.
  double low_days = 0, high_days = 0;
  double deadline = 1;               ///< 1 without a limit
  std::optional<double> budget = 1;  ///< the same; nothing without a price
  /// Returns the chance of both, as one clock decides them. Nothing: it is unknown.
  [[nodiscard]] std::optional<double> both() const {
    return budget ? std::optional(std::min(deadline, *budget)) : std::nullopt;
  }
  [[nodiscard]] bool enough() const { return both().value_or(0) >= kEnoughChance; }  ///< no unknown chance is enough
};

/// One cluster at one size.
struct PlanRow {
  std::string cluster;
  int gpus = 0;
  std::string impossible;  ///< the reason when there is no configuration; empty when there is one
  FoundConfiguration best;
  double checkpoint_bytes = 0, checkpoint_write_s = 0;
  std::optional<double> price_per_gpu_hour;
  PlannedRun run;         ///< at the headline step
  PlannedRun fast, slow;  ///< at the ends of its interval; hours, cost and energy of the days in `chances`
  RunChances chances;
  double scaling_efficiency = 1;  ///< tokens/s per GPU, relative to this cluster's smallest size that works
};

struct Plan {
  std::string name;
  std::string command = "", version = "";  ///< that made it
  PlanAssumptions assumptions;
  std::optional<double> deadline_days, budget;
  double level = trust::kUsualLevel;
  std::vector<PlanRow> rows;  ///< clusters in the order asked, sizes upwards
  std::size_t asked = 0;      ///< rows that were asked for; more than there are when the work was stopped
  /// Rows that meet deadline and budget as predicted. The cheapest has the least cost, or the fewest GPU hours when no
  /// price is known.
  std::optional<std::size_t> smallest, cheapest;  ///< rows that meet the limits with kEnoughChance; the cheapest by
                                                  ///< cost, without prices by GPU hours
};

/// Searches every cluster and size. Throws ConfigError when the question is wrong.
/// Work that is stopped gives the rows that are done.
[[nodiscard]] Plan make_plan(const PlanQuestion& question, const Watch& watch = {});

}  // namespace foretoken::study
