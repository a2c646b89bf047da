// The roles of the choices, and the groups that follow from the degrees.
#include "sim/fast/layer_key.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::fast {
namespace {

using job::Job;
using job::Key;
using Number = std::optional<std::int64_t>;

Number plays_none(const Job&, Key) { return std::nullopt; }

// The degree of an axis that cuts layers.
Number cuts(const Job& job, Key key) { return job::degrees_of(job.parallelism)[*job::axis_of(key)]; }

constexpr LayerRole kRoles[] = {
    {Key::kGpus, plays_none, "more replicas; the groups of a layer have their own shapes in the key"},
    {Key::kVirtualPipeline, plays_none, "which layers a chunk holds is for Passes"},
    {Key::kEncoderPipeline, plays_none, "which layers a stage holds is for Passes"},
    {Key::kSequenceParallel, [](const Job& job, Key) { return Number(job.parallelism.sequence_parallel ? 1 : 0); },
     "cuts norms and dropout, and gathers the sequence"},
    {Key::kLayersPerStage, plays_none, "which layers a stage holds is for Passes"},
    {Key::kSchedule, [](const Job& job, Key) { return Number(job.schedule.pairs_passes ? 1 : 0); },
     "orders passes; the passes of a pair hide exchanges"},
    {Key::kMicroBatch, [](const Job& job, Key) { return Number(job.batch.micro); }, "sizes every kernel"},
    {Key::kMicrobatchGroup, plays_none, "orders passes"},
    {Key::kRecompute, [](const Job& job, Key) { return Number(static_cast<int>(job.recompute.granularity)); },
     "repeats kernels in backward passes"},
    {Key::kZeroStage, [](const Job& job, Key) { return Number(job.optimizer.shards_gradients() ? 1 : 0); },
     "with gradient shards a layer accumulates no gradients"},
    {Key::kGradReduce, plays_none, "stands beside passes"},
    {Key::kParamGather, plays_none, "stands beside passes"},
    {Key::kP2pOverlap, plays_none, "stands between passes"},
    {Key::kTensorOverlap, [](const Job& job, Key) { return Number(job.overlap.tensor_parallel ? 1 : 0); },
     "cuts matrix products, and hides gathers"},
    {Key::kExchangeOverlap, [](const Job& job, Key) { return Number(job.overlap.exchanges ? job.microbatches() : 0); },
     "hides exchanges, except those of the first and the last micro-batch"},
    {Key::kDispatcher, [](const Job& job, Key) { return Number(static_cast<int>(job.routing.dispatcher)); },
     "sizes exchanges and copies of tokens"},
    {Key::kPrecision, [](const Job& job, Key) { return Number(static_cast<int>(job.precision)); },
     "sizes every element and chooses the products' rate"},
    {Key::kGradients, [](const Job& job, Key) { return Number(job.recipe.gradient_bytes > 2 ? 1 : 0); },
     "chooses what weight-gradient products add to"},
    {Key::kOffloadOptimizer, plays_none, "stands beside and behind passes"},
    {Key::kOffloadParameters, plays_none, "stands beside passes"},
    {Key::kOffloadActivations, plays_none, "stands beside passes"},
};

LayerRole role_of(Axis axis) {
  if (net::kLayerAxes.contains(axis) || kDealtAxes.contains(axis)) return {job::key_of(axis), cuts, "cuts a layer"};
  return {job::key_of(axis), plays_none, "which layers a stage holds, and how many replicas there are, is for others"};
}

std::array<LayerRole, job::kChoiceKeys> all_roles() {
  std::array<LayerRole, job::kChoiceKeys> roles{};
  for (const LayerRole& role : kRoles) roles[static_cast<std::size_t>(role.key)] = role;
  for (const auto& [axis, name] : kAxisNames) roles[static_cast<std::size_t>(job::key_of(axis))] = role_of(axis);
  return roles;
}

void append(const GroupShape& group, LayerKey::iterator& at) {
  for (const int number : {group.ranks, group.nodes, group.ranks_per_node, group.groups_per_node}) *at++ = number;
}

}  // namespace

std::span<const LayerRole> layer_roles() {
  static const std::array<LayerRole, job::kChoiceKeys> kAll = all_roles();
  return kAll;
}

LayerKey layer_key(const Job& job) {
  LayerKey key{};
  auto at = key.begin();
  for (const LayerRole& role : layer_roles()) *at++ = role.value(job, role.key).value_or(0);
  const int domain = job.cluster.links.gpus;
  const net::RankGrid grid = job.grid();
  for (const auto& [axis, name] : kAxisNames)
    if (net::kLayerAxes.contains(axis)) append(grid.shape(axis, domain), at);
  if (job.model.experts)
    for (const Axis axis : {Axis::kExpertTensor, Axis::kExpert}) append(grid.shape(axis, domain), at);
  else
    at = key.end();
  expects(at == key.end(), "a layer's key has no gaps");
  return key;
}

}  // namespace foretoken::fast
