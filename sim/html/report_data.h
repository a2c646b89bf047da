// Holds everything that a report shows. Sections read nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/observe/communication.h"
#include "sim/report/waterfall.h"
#include "sim/study/near/near_runs.h"
#include "sim/study/otherwise/sensitivity.h"
#include "sim/study/otherwise/variants.h"
#include "sim/study/plan/plan_file.h"
#include "sim/study/predict/predict.h"

namespace foretoken::html {

struct ReportData {
  const study::Prediction& base;
  report::Waterfall waterfall;
  std::vector<des::TaskId> critical_path;  ///< in order of time
  std::vector<observe::GroupTraffic> communication;
  std::vector<study::Variant> schedules, scaling, alternatives;
  std::vector<study::Variant> found;  ///< by a search of all configurations, fastest first
  double sensitivity_part = 0.1;
  std::vector<study::Sensitivity> sensitivity;
  std::vector<study::NearRun> near_runs;  ///< nearest first
  std::optional<study::PlanSummary> plan;
  std::string command, version;
  std::string date = "";      ///< of the report, as it is shown
  std::string scenario_json;  ///< the question with the overrides applied
};

}  // namespace foretoken::html
