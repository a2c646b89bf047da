// Parameters that one GPU holds.
#include "sim/lowering/parameters.h"

#include <algorithm>

namespace foretoken::lowering {

double local_layer_parameters(const Scenario& scenario) {
  const double whole = model::replicated_layer_parameters(scenario.model);
  return whole + (model::layer_parameters(scenario.model) - whole) / scenario.parallelism.tensor;
}

double local_token_table(const Scenario& scenario) {
  const double rows = static_cast<double>(model::padded_vocabulary(scenario.model, scenario.parallelism.tensor,
                                                                   scenario.runtime.pads_vocabulary)) /
                      scenario.parallelism.tensor;
  return rows * static_cast<double>(scenario.model.hidden);
}

double local_chunk_parameters(const Scenario& scenario, int stage, int chunk) {
  const model::Transformer& model = scenario.model;
  const Parallelism& parallel = scenario.parallelism;
  const double configured_table = static_cast<double>(model.vocabulary * model.hidden);
  double parameters = scenario.layers_in(stage, chunk) * local_layer_parameters(scenario);
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage == parallel.pipeline - 1 && chunk == parallel.virtual_pipeline - 1;
  if (first)  // the token table is split, positions and norm are whole
    parameters += local_token_table(scenario) + (model::embedding_parameters(model) - configured_table);
  if (last) {
    parameters += model::head_parameters(model) - (model.tied_embeddings ? 0 : configured_table);
    if (!model.tied_embeddings || parallel.pipeline > 1) parameters += local_token_table(scenario);
  }
  return parameters;
}

std::vector<double> block_parameters(const Scenario& scenario, int stage, int chunk) {
  const Parallelism& parallel = scenario.parallelism;
  const int layers = scenario.layers_in(stage, chunk);
  const double layer = local_layer_parameters(scenario);
  const double ends = local_chunk_parameters(scenario, stage, chunk) - layers * layer;
  std::vector<double> blocks(static_cast<std::size_t>(layers), layer);
  const bool first = stage == 0 && chunk == 0;
  const bool last = stage == parallel.pipeline - 1 && chunk == parallel.virtual_pipeline - 1;
  const double table = first ? local_token_table(scenario) : 0;
  if (last) blocks.push_back(first ? ends - table : ends);
  if (first) blocks.insert(blocks.begin(), last ? table : ends);
  return blocks;
}

double gradient_bucket_parameters(int ranks) { return std::max(40e6, 1e6 * ranks); }

double local_stage_parameters(const Scenario& scenario, int stage) {
  double parameters = 0;
  for (int chunk = 0; chunk < scenario.parallelism.virtual_pipeline; ++chunk)
    parameters += local_chunk_parameters(scenario, stage, chunk);
  return parameters;
}

}  // namespace foretoken::lowering
