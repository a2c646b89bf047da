// Reads the capacity plans of `foretoken plan --json` for a report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/report/text/range.h"

namespace foretoken::study {

/// One cluster and size of a capacity plan.
struct PlanOption {
  std::string cluster;
  int gpus = 0;
  std::string impossible;     ///< the reason when there is no configuration; the rest is then empty
  std::string configuration;  ///< "TP8 PP8 DP16, micro-batch 1"
  double expected_days = 0, p50_days = 0, p90_days = 0, goodput = 0, gpu_hours = 0, scaling_efficiency = 0;
  std::optional<double> cost, energy_mwh;
  std::optional<report::Range> days_range{},
      cost_range{};  ///< of all runs with their failures; at the ends of the step's interval
  bool meets_deadline = true, is_smallest = false, is_cheapest = false;
  std::optional<bool> within_budget{};  ///< nothing without a price
  std::optional<double> chance{};       ///< of meeting deadline and budget
};

/// A capacity plan. The report shows its cheapest option, else its smallest, else its first possible one.
struct PlanSummary {
  double tokens = 0;
  std::optional<double> deadline_days, budget;
  std::string currency = "USD";
  std::vector<PlanOption> options;
  std::optional<std::size_t> about;        ///< the option that the report is about
  std::vector<std::string> assumptions;    ///< of failures, checkpoints and energy, in words
  std::string command = "", version = "";  ///< that made the plan; empty when it does not say
};

struct PlanFile {
  PlanSummary plan;
  std::string scenario;  ///< JSON of the option that the report shows
};

/// Reads `path` when it is a plan: a JSON object with "options". Returns nothing for any other file or none. Throws
/// ConfigError when a plan is wrong, or has no possible option.
[[nodiscard]] std::optional<PlanFile> read_plan_file(const std::string& path);

}  // namespace foretoken::study
