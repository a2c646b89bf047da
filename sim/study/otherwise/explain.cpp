// Explains a step time.
#include "sim/study/otherwise/explain.h"

#include <utility>

#include "sim/study/predict/delays.h"

namespace foretoken::study {

Explanation explain(job::Made made, const trust::Evidence& evidence, double part) {
  const job::Job sound = repaired(made.job);  // better hardware is compared with hardware in order
  Explanation answer{.prediction = predict(std::move(made), {.delays = true, .interval = IntervalQuestion{evidence}}),
                     .fall = {},
                     .part = part,
                     .repaired = predict(sound).metrics.step_time,
                     .hardware = sensitivities(sound, part)};
  answer.fall = waterfall_of(answer.prediction);
  return answer;
}

}  // namespace foretoken::study
