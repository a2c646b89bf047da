// A job on nodes of several kinds, taken apart.
#include "sim/lowering/parts.h"

namespace foretoken::lowering {

Parts::Parts(const Scenario& scenario) : whole_(scenario) {
  const int ranks_a_stage = scenario.gpus / scenario.parallelism.pipeline;
  for (const StageGroup& group : scenario.groups) {
    Scenario& part = parts_.emplace_back(scenario);
    part.groups.clear();
    part.cluster = group.cluster;
    part.profile = group.profile;
    part.parallelism.pipeline = group.stages;
    part.parallelism.layers_per_stage.clear();
    part.gpus = group.stages * ranks_a_stage;
  }
}

const Scenario& Parts::of(int stage) const { return parts_.empty() ? whole_ : parts_[whole_.group_of(stage)]; }

int Parts::local(int stage) const {
  if (parts_.empty()) return stage;
  int before = 0;
  for (std::size_t group = 0; group < whole_.group_of(stage); ++group) before += whole_.groups[group].stages;
  return stage - before;
}

std::vector<const Scenario*> Parts::all() const {
  std::vector<const Scenario*> all;
  for (const Scenario& part : parts_) all.push_back(&part);
  if (all.empty()) all.push_back(&whole_);
  return all;
}

}  // namespace foretoken::lowering
