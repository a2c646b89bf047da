// From a scenario to its place, and from there to its interval.
#include "sim/study/predict/interval.h"

#include <set>
#include <string>

#include "sim/model/counts/parameters.h"

namespace foretoken::study {

namespace {

// Several kinds of nodes are a kind of their own, which no case stands for.
std::string gpu_of(const job::Job& job) {
  std::string kinds;
  std::set<std::string> seen;
  trust::Place place;
  for (const job::StageGroup& group : job.groups) {
    if (!seen.insert(group.cluster.name).second) continue;
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
