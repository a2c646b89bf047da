// Makes intervals from the rows, and checks them on each row without the evidence that it shares with others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/trust/calibrate.h"
#include "validate/evaluate.h"

namespace foretoken::validate {

struct Intervals {
  trust::Evidence evidence;  ///< all step times of all sets, calibrated
  Coverage all;
  std::map<std::string, Coverage> publications;  ///< by the source of their sets
};

/// Calibrates on the step times of all sets and fills the coverage of each.
[[nodiscard]] Intervals check_intervals(std::vector<SetResult>& sets);

/// Writes validate/residuals.json, which predictions read for their intervals (sim/io/scenario/read_residuals.h).
[[nodiscard]] std::string residuals_json(const std::vector<SetResult>& sets, const trust::Evidence& evidence);

}  // namespace foretoken::validate
