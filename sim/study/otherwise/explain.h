// Explains a step time: the way from the ideal step to the predicted one, and the gain from better hardware.
#pragma once

#include <vector>

#include "sim/report/waterfall.h"
#include "sim/study/otherwise/overlaps.h"
#include "sim/study/otherwise/sensitivity.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

struct Explanation {
  Prediction prediction;   ///< with delays and interval
  report::Waterfall fall;  ///< from the ideal step to the predicted one
  double part = 0;         ///< by which each hardware property grows: 0.1 is a tenth
  Seconds repaired;        ///< the step without slow hardware, the base of `hardware`
  std::vector<Sensitivity> hardware;
  std::vector<CostlyOverlap> costly;  ///< overlaps that cost more than they hide

  /// Returns the change of the step with more of a property: -0.02 saves 2 %.
  [[nodiscard]] double change(const Sensitivity& property) const { return property.larger / repaired - 1; }
};

/// Work that is stopped gives the hardware properties that are done.
[[nodiscard]] Explanation explain(job::Made made, const trust::Evidence& evidence, double part,
                                  const Watch& watch = {});

}  // namespace foretoken::study
