// Divides a job on nodes of several kinds.
#include "sim/job/parts.h"

namespace foretoken::job {

Parts::Parts(const Job& job) : whole_(job) {
  const int ranks_a_stage = job.gpus / job.parallelism.pipeline;
  for (const StageGroup& group : job.groups) {
    Job& part = parts_.emplace_back(job);
    part.groups.clear();
    part.cluster = group.cluster;
    part.profile = group.profile;
    part.parallelism.pipeline = group.stages;
    part.parallelism.layers_per_stage.clear();
    part.gpus = group.stages * ranks_a_stage;
  }
}

const Job& Parts::of(Stage stage) const { return parts_.empty() ? whole_ : parts_[whole_.group_of(stage)]; }

Stage Parts::local(Stage stage) const {
  if (parts_.empty()) return stage;
  int before = 0;
  for (std::size_t group = 0; group < whole_.group_of(stage); ++group) before += whole_.groups[group].stages;
  return id_of<Stage>(stage.number() - before);
}

std::vector<const Job*> Parts::all() const {
  std::vector<const Job*> all;
  for (const Job& part : parts_) all.push_back(&part);
  if (all.empty()) all.push_back(&whole_);
  return all;
}

}  // namespace foretoken::job
