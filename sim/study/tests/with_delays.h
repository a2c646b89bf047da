// Makes a prediction with its delays, for tests of slow hardware.
#pragma once

#include "sim/study/predict/predict.h"

namespace foretoken::study {

inline Prediction with_delays(const job::Job& job, How how = {}) {
  how.delays = Delays::kEach;
  return predict(job, how);
}

}  // namespace foretoken::study
