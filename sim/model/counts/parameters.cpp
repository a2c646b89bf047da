// Sums over weights. Every count is a whole number in a double, far below 2^53.
#include "sim/model/counts/parameters.h"

#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/counts/shares.h"
#include "sim/model/products.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::model {
namespace {

double elements(const Weight& weight) { return real(weight.rows) * real(weight.columns) * real(weight.copies); }

template <class Wanted>
double sum(const BlockOps& block, const Wanted& wanted) {
  double all = 0;
  for (const Weight& weight : block.weights)
    if (wanted(weight)) all += elements(weight);
  return all;
}

double padded_elements(const Weight& weight) { return real(weight.rows + weight.padding_rows) * real(weight.columns); }

double dealt_elements(const Weight& weight, const LayerContext& context) {
  return elements(weight) / (context.experts.expert * ranks_of_expert(weight, context));
}

// Parts of split weights are counted together, because a rank may hold a fraction of one.
template <class Wanted>
double local_sum(const BlockOps& block, const LayerContext& context, const Wanted& wanted) {
  double whole = 0, split = 0;
  for (const Weight& weight : block.weights) {
    if (!wanted(weight)) continue;
    if (is_of_experts(weight))
      whole += dealt_elements(weight, context);
    else
      (weight.split == Split::kWhole ? whole : split) += padded_elements(weight);
  }
  return whole + split / context.tensor;
}

template <class Wanted>
BlockOps weights_of(const BlockOps& block, const Wanted& wanted) {
  BlockOps some;
  for (const Weight& weight : block.weights)
    if (wanted(weight)) some.weights.push_back(weight);
  return some;
}

}  // namespace

BlockOps trained_weights(const BlockOps& block) {
  return weights_of(block, [](const Weight& weight) { return weight.trainable; });
}

BlockOps narrow_weights(const BlockOps& block) {
  return weights_of(block, [](const Weight& weight) { return weight.stored_bytes > 0; });
}

BlockOps without_copies(const BlockOps& block) {
  return weights_of(block, [](const Weight& weight) { return !weight.trained_copy; });
}

double parameters(const BlockOps& block) {
  return sum(block, [](const Weight& weight) { return !weight.tied; });
}

double matrix_parameters(const BlockOps& block) {
  return sum(block, [](const Weight& weight) { return weight.kind == WeightKind::kMatrix; });
}

double expert_matrix_parameters(const BlockOps& block) {
  return sum(block, [](const Weight& weight) { return weight.kind == WeightKind::kMatrix && is_of_experts(weight); });
}

double replicated_parameters(const BlockOps& block) {
  return sum(block, [](const Weight& weight) { return weight.split == Split::kWhole; });
}

double local_parameters(const BlockOps& block, const LayerContext& context) {
  return local_sum(block, context, [](const Weight& weight) { return !weight.tied; });
}

double local_expert_parameters(const BlockOps& block, const LayerContext& context) {
  return local_sum(block, context, is_of_experts);
}

double parameters_met(const BlockOps& block) {
  double met = parameters(block);
  for (const Weight& weight : block.weights)
    if (!weight.tied) met -= elements(weight) / real(weight.copies) * real(weight.copies - weight.copies_met);
  return met;
}

double local_table(const BlockOps& block, const LayerContext& context) {
  return local_sum(block, context,
                   [](const Weight& weight) { return weight.kind == WeightKind::kTable && !weight.trained_copy; });
}

double local_table_copy(const BlockOps& block, const LayerContext& context) {
  return local_sum(block, context,
                   [](const Weight& weight) { return weight.kind == WeightKind::kTable && weight.trained_copy; });
}

double factored_moments(const BlockOps& block, const LayerContext& context) {
  double numbers = 0;
  for (const Weight& weight : block.weights) {
    if (!weight.trainable || weight.tied) continue;
    const double dealt = is_of_experts(weight) ? context.experts.expert * ranks_of_expert(weight, context) : 1;
    const double rows = real(local_rows(weight, context)), columns = real(local_columns(weight, context));
    numbers += (weight.kind == WeightKind::kVector ? rows * columns : rows + columns) * real(weight.copies) / dealt;
  }
  return numbers;
}

double layer_matmul_parameters(const Transformer& model) { return matrix_parameters(dense_layer(model, {})); }

double layer_parameters(const Transformer& model) { return parameters(dense_layer(model, {})); }

double replicated_layer_parameters(const Transformer& model) { return replicated_parameters(dense_layer(model, {})); }

double norm_parameters(const Transformer& model) {
  BlockOps block;
  (void)add_norm_weight(block, model, "norm");
  return parameters(block);
}

double embedding_parameters(const Transformer& model) { return parameters(embedding_block(model, {})); }

double head_parameters(const Transformer& model) { return parameters(head_block(model, {})); }

namespace {

template <class Count>
double sum_over(const Transformer& model, const Count& count) {
  double layers = 0;
  for (const LayerRunOps& run : decoder_layers(model, {})) layers += real(run.count) * count(run.ops);
  return layers + count(embedding_block(model, {})) + count(head_block(model, {}));
}

}  // namespace

double total_parameters(const Transformer& model) {
  return sum_over(model, [](const BlockOps& block) { return parameters(without_copies(block)); });
}

double active_parameters(const Transformer& model) {
  return sum_over(model, [](const BlockOps& block) { return parameters_met(without_copies(block)); });
}

double trained_parameters(const Transformer& model) {
  return sum_over(model, [](const BlockOps& block) { return parameters(trained_weights(block)); });
}

double copied_parameters(const Transformer& model) {
  return sum_over(model, [](const BlockOps& block) { return parameters(block) - parameters(without_copies(block)); });
}

double narrow_parameters(const Transformer& model) {
  return sum_over(model, [](const BlockOps& block) { return parameters(narrow_weights(block)); });
}

Transformer without_prediction(Transformer model) {
  model.prediction_layers = 0;
  return model;
}

}  // namespace foretoken::model
