// Everything a report shows; sections read it and nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/observe/communication.h"
#include "sim/report/gantt.h"
#include "sim/report/metrics.h"
#include "sim/report/text/range.h"
#include "sim/study/sensitivity.h"
#include "sim/study/simulate.h"

namespace foretoken::html {

/// Another configuration of the same job, or the reason why it is impossible.
struct Variant {
  std::string label;
  bool is_base = false;  ///< the scenario as it is
  std::optional<report::Metrics> metrics;
  std::string why_not;
  int gpus = 0;
  report::Gantt chart;  ///< of schedules
};

/// A published run near the scenario, predicted.
struct NearRun {
  std::string set, id, source;
  int gpus = 0;
  Seconds measured, predicted;
  bool fitted = false;     ///< took part in fitting a number
  double distance = 0;     ///< 0: the same model size, GPUs, GPU kind and software
  std::string difference;  ///< what differs, in words
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// One cluster and size of a capacity plan.
struct PlanOption {
  std::string cluster;
  int gpus = 0;
  std::string impossible;     ///< why there is no configuration; the rest is then empty
  std::string configuration;  ///< "TP8 PP8 DP16, micro-batch 1"
  double expected_days = 0, p50_days = 0, p90_days = 0, goodput = 0, gpu_hours = 0, scaling_efficiency = 0;
  std::optional<double> cost, energy_mwh;
  std::optional<report::Range> p50_range{}, p90_range{}, cost_range{};  ///< at the ends of the step's interval
  bool meets_deadline = true, within_budget = true, is_smallest = false, is_cheapest = false;
  bool is_safe = true;  ///< also when the step is at the slow end of its interval
};

/// A capacity plan; the report's scenario is its cheapest, else its smallest, else its first possible option.
struct Plan {
  double tokens = 0;
  std::optional<double> deadline_days, budget;
  std::string currency = "USD";
  std::vector<PlanOption> options;
};

struct ReportData {
  const study::Simulation& base;
  std::vector<des::TaskId> critical_path;  ///< in order of time
  std::vector<observe::GroupTraffic> communication;
  std::vector<Variant> schedules, scaling, alternatives;
  std::vector<Variant> found;  ///< by a search of all configurations, fastest first
  double sensitivity_part = 0.1;
  std::vector<study::Sensitivity> sensitivity;
  std::vector<NearRun> near_runs;  ///< nearest first
  std::optional<Plan> plan;
  std::string command, version;
  std::string scenario_json;  ///< the question, overrides applied
};

}  // namespace foretoken::html
