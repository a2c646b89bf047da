// Published runs that resemble a scenario, predicted.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/job/job.h"

namespace foretoken::study {

/// A published run whose step was measured.
struct MeasuredRun {
  std::string set, id, source;  ///< its set of cases, its name there, and the set's title
  std::string scenario;         ///< JSON text
  Seconds measured;
  bool fitted = false;  ///< took part in fitting a number
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

/// At most `count` of `measured` nearest to `scenario`, nearest first; none farther than a hundredfold model on
/// another generation of GPU. Distance counts doublings of parameters, GPUs, degrees and sequence, and steps between
/// kinds of GPU, software, precision and recomputation; it orders, and means nothing else. Throws ConfigError when a
/// scenario cannot be read.
[[nodiscard]] std::vector<NearRun> near_runs(const job::Job& scenario, std::span<const MeasuredRun> measured,
                                             std::size_t count);

}  // namespace foretoken::study
