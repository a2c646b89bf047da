// Fits a runtime's few numbers on published training steps, and measures its errors on steps left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::fit {

/// A number that may move between two bounds. The fit starts in the middle.
struct Movable {
  std::string name;
  double low = 0, high = 1;  ///< in the unit of the runtime file
};

/// One published step.
struct MeasuredStep {
  job::Job scenario;
  double seconds = 0;
  std::string group;  ///< steps of one group are left out together
};

/// A request: the numbers to fit, and the steps to fit them on.
struct RuntimeFitRequest {
  std::string runtime;
  std::vector<Movable> numbers;  ///< at most six
  std::vector<MeasuredStep> steps;
  int folds = 5;
  int stride = 1;  ///< every n-th step enters a fit; all are scored
};

struct RuntimeFit {
  std::vector<double> values;     ///< one for each number
  std::vector<double> in_sample;  ///< signed relative errors of all steps, fitted on all
  std::vector<double> held_out;   ///< signed relative errors of all steps, each predicted by a fit without its fold
  std::vector<std::vector<double>> fold_values;
};

/// Reads a request file:
///   {"runtime": NAME, "sets": [NAME], "rows": "all" | "fitted", "groups": [POINTER into a row's scenario],
///    "numbers": {NAME: [low, high]}, "folds": N, "stride": N}
/// Throws ConfigError with every complaint.
[[nodiscard]] RuntimeFitRequest read_runtime_fit(const std::filesystem::path& path);

/// Minimises the mean of |log(predicted / measured)| with a downhill simplex inside the bounds. A fold holds whole
/// groups, dealt out in the order of their names. Deterministic. Precondition: at least as many groups as folds.
[[nodiscard]] RuntimeFit fit_runtime(const RuntimeFitRequest& request);

}  // namespace foretoken::fit
