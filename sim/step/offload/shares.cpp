// Counts the part of a stage's parameters that stands outside its GPU.
#include "sim/step/offload/shares.h"

namespace foretoken::step {

double offloaded_share(const job::Job& job, const LocalParameters& parameters, Stage stage,
                       const job::Offloaded& offloaded) {
  if (!offloaded.layers) return offloaded.fraction;
  double moved = 0, all = 0;
  for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline)) {
    const std::vector<double> blocks = parameters.of_blocks(stage, chunk);
    const std::size_t first = job::contents_of(job, stage, chunk).embedding ? 1 : 0;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      all += blocks[block];
      const bool is_layer = block >= first && block < first + static_cast<std::size_t>(job.layers_in(stage, chunk));
      moved += blocks[block] * (is_layer ? offloaded.of_layer(static_cast<int>(block - first)) : offloaded.of_ends());
    }
  }
  return all > 0 ? moved / all : 0;
}

double updated_on_host(const job::Job& job, const LocalParameters& trained, Stage stage) {
  const net::RankGrid grid = job.grid();
  const double experts = trained.experts_of_stage(stage), others = trained.of_stage(stage) - experts;
  const bool shards = job.optimizer.zero_stage >= 1;
  const double ranks = shards ? grid.degree(net::kReplicaAxes) : 1;
  const double expert_ranks = shards && experts > 0 ? grid.degree(Axis::kExpertData) : 1;
  return offloaded_share(job, trained, stage, job.offload.optimizer) * (others / ranks + experts / expert_ranks);
}

bool streams_gradients(const job::Job& job) {
  return job.offload.optimizer.any() && job.runtime.offload.streams_gradients && job.optimizer.shards_gradients();
}

double copied_weight_bytes(const job::Job& job) {
  return job.runtime.fully_sharded && job.recipe.master_bytes > 0 ? job.recipe.master_bytes : job.recipe.weight_bytes;
}

}  // namespace foretoken::step
