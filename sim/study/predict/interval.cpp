// Finds the place of a job among the validated cases, and the interval around its step time.
#include "sim/study/predict/interval.h"

#include <set>
#include <string>

#include "sim/model/counts/parameters.h"

namespace foretoken::study {

namespace {

// Names the kind of GPU. A mix of kinds is a kind of its own, which no validated case has.
std::string gpu_of(const job::Job& job) {
  std::string kinds;
  std::set<std::string> names;
  trust::Place place;
  for (const job::StageGroup& group : job.groups) {
    if (!names.insert(group.cluster.name).second) continue;
    place.gpu = group.cluster.gpu.name;
    if (!kinds.empty()) kinds += '+';
    kinds += place.gpu_kind();
  }
  return kinds.empty() ? job.cluster.gpu.name : kinds;
}

}  // namespace

trust::Place place_of(const job::Job& job) {
  return {.gpu = gpu_of(job),
          .runtime = job.runtime.name,
          .bits = static_cast<int>(8 * bytes_per_element(job.precision)),
          .gpus = static_cast<double>(job.gpus),
          .parameters = model::total_parameters(job.model)};
}

trust::Interval interval_of(const job::Job& job, Seconds predicted, const IntervalQuestion& question) {
  return trust::interval_of(place_of(job), predicted, question.evidence, question.level);
}

}  // namespace foretoken::study
