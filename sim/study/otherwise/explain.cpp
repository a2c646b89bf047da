// Explains a step time.
#include "sim/study/otherwise/explain.h"

#include <utility>

#include "sim/study/predict/delays.h"

namespace foretoken::study {

Explanation explain(job::Made made, const trust::Evidence& evidence, double part, const Watch& watch) {
  const job::Job sound = repaired(made.job);  // better hardware is compared with hardware in order
  Explanation answer{
      .prediction = predict(std::move(made),
                            {.keeps_tasks = false, .delays = Delays::kEach, .interval = IntervalQuestion{evidence}}),
      .fall = {},
      .part = part,
      .repaired = {},
      .hardware = {},
      .costly = {}};
  const double factor = answer.prediction.metrics.bias_factor();
  answer.repaired = factor * predict(sound, {.keeps_tasks = false}).metrics.simulated_step_time;
  answer.hardware = sensitivities(sound, part, factor, watch);
  answer.costly = costly_overlaps(sound, answer.repaired, factor, watch);
  answer.fall = waterfall_of(answer.prediction);
  return answer;
}

}  // namespace foretoken::study
