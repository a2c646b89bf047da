// The reasons of a step time: the fall from the ideal step, and the worth of better hardware.
#pragma once

#include <vector>

#include "sim/report/waterfall.h"
#include "sim/study/otherwise/sensitivity.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

struct Explanation {
  Prediction prediction;   ///< with its delays and its interval
  report::Waterfall fall;  ///< from the ideal step to the predicted one
  double part = 0;         ///< how much more of a hardware property is tried: 0.1 is a tenth
  Seconds repaired;        ///< the step without slow hardware, from which hardware is weighed
  std::vector<Sensitivity> hardware;

  /// Returns the change of the step with more of a property: -0.02 saves 2 %.
  [[nodiscard]] double change(const Sensitivity& property) const { return property.larger / repaired - 1; }
};

[[nodiscard]] Explanation explain(job::Made made, const trust::Evidence& evidence, double part);

}  // namespace foretoken::study
