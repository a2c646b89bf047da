// Counts the weights of each unit: those that all replicas share, and those of experts.
#include "sim/step/replicas/sharded_units.h"

#include "sim/job/layout.h"
#include "sim/model/counts/matrices.h"
#include "sim/model/counts/parameters.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

using OfBlocks = std::vector<double> (LocalParameters::*)(Stage, Chunk) const;

std::vector<double> counted_blocks(const job::Job& job, Counted counted, OfBlocks of_blocks) {
  return (LocalParameters(job, counted).*of_blocks)(Stage{}, Chunk{});
}

// Counts parameters of each block in units of the job's weights: weights in 4 or 8 bit travel as they are stored.
std::vector<double> gathered_parameters(const job::Job& job, OfBlocks of_blocks) {
  std::vector<double> all = counted_blocks(job, Counted::kAll, of_blocks);
  if (!job.model.tuning.holds_narrow()) return all;
  const std::vector<double> narrow = counted_blocks(job, Counted::kNarrow, of_blocks);
  for (std::size_t block = 0; block < narrow.size(); ++block)
    all[block] -= narrow[block] * (1 - job.model.tuning.narrow_bytes() / job.recipe.weight_bytes);
  return all;
}

class UnitCounter {
 public:
  explicit UnitCounter(const job::Job& job) : job_(job), own_grid_(job::experts_have_own_grid(job)) {
    const OfBlocks shared = own_grid_ ? &LocalParameters::without_experts_of_blocks : &LocalParameters::of_blocks;
    gathered_ = gathered_parameters(job, shared);
    reduced_ = counted_blocks(job, Counted::kTrained, shared);
    if (!own_grid_) return;
    gathered_experts_ = gathered_parameters(job, &LocalParameters::experts_of_blocks);
    reduced_experts_ = counted_blocks(job, Counted::kTrained, &LocalParameters::experts_of_blocks);
  }

  [[nodiscard]] Unit root() const {
    constexpr int kRootTensors = 1;
    Unit unit;
    unit.gathered[ShardRanks::kReplicas] = {gathered_.front() + gathered_.back(), kRootTensors};
    unit.reduced[ShardRanks::kReplicas] = {reduced_.front() + reduced_.back(), kRootTensors};
    if (!own_grid_) return unit;
    // The head may have layers of multi-token prediction.
    const auto of_head = [](double parameters) { return Amount{parameters, parameters > 0 ? kRootTensors : 0}; };
    unit.gathered[ShardRanks::kExpertData] = of_head(gathered_experts_.back());
    unit.reduced[ShardRanks::kExpertData] = of_head(reduced_experts_.back());
    return unit;
  }

  [[nodiscard]] Unit layer(int number, const model::BlockOps& ops) const {
    const std::size_t block = static_cast<std::size_t>(number) + 1;
    Unit unit;
    unit.layer = number;
    fill(unit.gathered, gathered_[block], own_grid_ ? gathered_experts_[block] : 0, ops);
    fill(unit.reduced, reduced_[block], own_grid_ ? reduced_experts_[block] : 0, model::trained_weights(ops));
    return unit;
  }

 private:
  void fill(Amounts& amounts, double shared, double of_experts, const model::BlockOps& ops) const {
    const int all = model::stored_matrices(ops), experts = own_grid_ ? model::stored_expert_matrices(ops) : 0;
    amounts[ShardRanks::kReplicas] = {shared, all - experts};
    amounts[ShardRanks::kExpertData] = {of_experts, experts / job_.parallelism.expert};
  }

  const job::Job& job_;
  bool own_grid_;
  std::vector<double> gathered_, reduced_;                  // by block, over data x context ranks
  std::vector<double> gathered_experts_, reduced_experts_;  // by block; empty without a grid of their own
};

}  // namespace

Amount& Amount::operator+=(Amount other) {
  parameters += other.parameters;
  tensors += other.tensors;
  return *this;
}

Units sharded_units(const job::Job& job) {
  const UnitCounter counter(job);
  Units units{.root = counter.root(), .layers = {}};
  const auto kinds = model::decoder_layers(job.model, job.layer_context());
  for (const model::LayerCount& run : job::contents_of(job, Stage{}, Chunk{}).layers)
    for (int layer = 0; layer < run.count; ++layer)
      units.layers.push_back(
          counter.layer(static_cast<int>(units.layers.size()), kinds[static_cast<std::size_t>(run.kind)].ops));
  return units;
}

int ranks_of(const job::Job& job, ShardRanks ranks) {
  return ranks == ShardRanks::kReplicas ? replica_group(job).ranks : job.grid().degree(Axis::kExpertData);
}

}  // namespace foretoken::step
