// Finds published runs near a job, and predicts them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/job/job.h"
#include "sim/trust/place.h"

namespace foretoken::study {

/// A published run with a measured step.
struct MeasuredRun {
  std::string set, id, source;  ///< its set of cases, its name in the set, and the set's title
  std::string scenario;         ///< JSON text
  Seconds measured;
  bool fitted = false;  ///< took part in fitting a number
};

/// A published run near the job, predicted.
struct NearRun {
  std::string set, id, source;
  int gpus = 0;
  Seconds measured, predicted;
  bool fitted = false;     ///< took part in fitting a number
  double distance = 0;     ///< in steps (trust::Weights)
  std::string difference;  ///< "175B parameters, H100"
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// Returns at most `count` of `measured`, the nearest to `job` first, at most four of a set. Distance
/// counts the same keys as that of intervals (trust::Place), with the weights of their evidence. Runs that differ in
/// GPU kind, runtime and element width at once are left out. Throws ConfigError when a scenario cannot be read.
[[nodiscard]] std::vector<NearRun> near_runs(const job::Job& job, std::span<const MeasuredRun> measured,
                                             std::size_t count, const trust::Weights& weights);

}  // namespace foretoken::study
