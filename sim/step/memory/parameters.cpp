// Parameters that one GPU holds.
#include "sim/step/memory/parameters.h"

#include <algorithm>

namespace foretoken::step {

double local_layer_parameters(const job::Job& job) {
  const double whole = model::replicated_layer_parameters(job.model);
  return whole + (model::layer_parameters(job.model) - whole) / job.parallelism.tensor;
}

double local_token_table(const job::Job& job) {
  const double rows =
      static_cast<double>(model::padded_vocabulary(job.model, job.parallelism.tensor, job.runtime.pads_vocabulary)) /
      job.parallelism.tensor;
  return rows * static_cast<double>(job.model.hidden);
}

double local_chunk_parameters(const job::Job& job, int stage, int chunk) {
  const model::Transformer& model = job.model;
  const job::Parallelism& parallel = job.parallelism;
  const double configured_table = static_cast<double>(model.vocabulary * model.hidden);
  double parameters = job.layers_in(stage, chunk) * local_layer_parameters(job);
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage == parallel.pipeline - 1 && chunk == parallel.virtual_pipeline - 1;
  if (first)  // the token table is split, positions and norm are whole
    parameters += local_token_table(job) + (model::embedding_parameters(model) - configured_table);
  if (last) {
    parameters += model::head_parameters(model) - (model.tied_embeddings ? 0 : configured_table);
    if (!model.tied_embeddings || parallel.pipeline > 1) parameters += local_token_table(job);
  }
  return parameters;
}

std::vector<double> block_parameters(const job::Job& job, int stage, int chunk) {
  const job::Parallelism& parallel = job.parallelism;
  const int layers = job.layers_in(stage, chunk);
  const double layer = local_layer_parameters(job);
  const double ends = local_chunk_parameters(job, stage, chunk) - layers * layer;
  std::vector<double> blocks(static_cast<std::size_t>(layers), layer);
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage == parallel.pipeline - 1 && chunk == parallel.virtual_pipeline - 1;
  const double table = first ? local_token_table(job) : 0;
  if (last) blocks.push_back(first ? ends - table : ends);
  if (first) blocks.insert(blocks.begin(), last ? table : ends);
  return blocks;
}

double gradient_bucket_parameters(int ranks) { return std::max(40e6, 1e6 * ranks); }

double local_stage_parameters(const job::Job& job, int stage) {
  double parameters = 0;
  for (int chunk = 0; chunk < job.parallelism.virtual_pipeline; ++chunk)
    parameters += local_chunk_parameters(job, stage, chunk);
  return parameters;
}

}  // namespace foretoken::step
