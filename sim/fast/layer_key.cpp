// The roles of the choices, and the groups that follow from the degrees.
#include "sim/fast/layer_key.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::fast {
namespace {

using job::Job;
using job::Key;
using Number = std::optional<std::int64_t>;

Number plays_none(const Job&) { return std::nullopt; }

constexpr std::array<LayerRole, job::kChoiceKeys> kRoles = {{
    {Key::kGpus, plays_none, "more replicas; the groups of a layer have their own shapes in the key"},
    {Key::kTensor, [](const Job& job) { return Number(job.parallelism.tensor); }, "cuts a layer"},
    {Key::kPipeline, plays_none, "which layers a stage holds is for Passes"},
    {Key::kVirtualPipeline, plays_none, "which layers a chunk holds is for Passes"},
    {Key::kData, plays_none, "follows from the GPUs and the other degrees"},
    {Key::kContext, [](const Job& job) { return Number(job.parallelism.context); }, "cuts the sequence"},
    {Key::kSequenceParallel, [](const Job& job) { return Number(job.parallelism.sequence_parallel ? 1 : 0); },
     "cuts norms and dropout, and gathers the sequence"},
    {Key::kLayersPerStage, plays_none, "which layers a stage holds is for Passes"},
    {Key::kSchedule, plays_none, "orders passes"},
    {Key::kMicroBatch, [](const Job& job) { return Number(job.batch.micro); }, "sizes every kernel"},
    {Key::kMicrobatchGroup, plays_none, "orders passes"},
    {Key::kRecompute, [](const Job& job) { return Number(static_cast<int>(job.recompute.granularity)); },
     "repeats kernels in backward passes"},
    {Key::kZeroStage, [](const Job& job) { return Number(job.optimizer.shards_gradients() ? 1 : 0); },
     "with gradient shards a layer accumulates no gradients"},
    {Key::kGradReduce, plays_none, "stands beside passes"},
    {Key::kParamGather, plays_none, "stands beside passes"},
}};

void append(const GroupShape& group, LayerKey::iterator& at) {
  for (const int number : {group.ranks, group.nodes, group.ranks_per_node, group.groups_per_node}) *at++ = number;
}

}  // namespace

const std::array<LayerRole, job::kChoiceKeys>& layer_roles() { return kRoles; }

LayerKey layer_key(const Job& job) {
  LayerKey key{};
  auto at = key.begin();
  for (const LayerRole& role : kRoles) *at++ = role.value(job).value_or(0);
  const int domain = job.cluster.links.gpus;
  const net::RankGrid grid = job.grid();
  for (const Axis axis : {Axis::kTensor, Axis::kContext}) append(grid.shape(axis, domain), at);
  expects(at == key.end(), "a layer's key has no gaps");
  return key;
}

}  // namespace foretoken::fast
