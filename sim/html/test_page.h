// Makes the page of one prediction for tests, without other studies.
#pragma once

#include <string>

#include "sim/html/document.h"
#include "sim/observe/critical_path.h"
#include "sim/study/predict/delays.h"

namespace foretoken::html {

inline std::string page_of(const study::Prediction& base, const std::string& json = "{}") {
  return document({.base = base,
                   .waterfall = study::waterfall_of(base),
                   .critical_path = observe::critical_path(base.step.workload, base.run),
                   .communication = observe::communication(base.step, base.run, base.observations),
                   .schedules = {},
                   .scaling = {},
                   .alternatives = {},
                   .found = {},
                   .sensitivity = study::sensitivities(base.job, 0.1),
                   .near_runs = {},
                   .plan = {},
                   .command = "foretoken report x",
                   .version = "1",
                   .scenario_json = json});
}

}  // namespace foretoken::html
