// Parameters, counted from the weights of blocks.
#pragma once

#include "sim/model/block.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// The weights that training changes, without the ops: what has gradients and optimizer states.
[[nodiscard]] BlockOps trained_weights(const BlockOps& block);
/// Likewise the weights that are narrower in memory than the job's weights.
[[nodiscard]] BlockOps narrow_weights(const BlockOps& block);

/// The block's weights but trained copies, without the ops.
[[nodiscard]] BlockOps without_copies(const BlockOps& block);

/// All parameters of a block, however it is cut. A tied table counts where the embedding holds it.
[[nodiscard]] double parameters(const BlockOps& block);
/// Parameters of a block's matrices: the products of a layer.
[[nodiscard]] double matrix_parameters(const BlockOps& block);
/// The part of matrix_parameters() that are weights of experts.
[[nodiscard]] double expert_matrix_parameters(const BlockOps& block);
/// Parameters that every tensor rank holds whole: norms, biases of row-parallel products.
[[nodiscard]] double replicated_parameters(const BlockOps& block);
/// Parameters of a block on one tensor rank: split weights by their share, the vocabulary padded. A tied table is left
/// out.
[[nodiscard]] double local_parameters(const BlockOps& block, const LayerContext& context);
/// The part of local_parameters() that are weights of experts.
[[nodiscard]] double local_expert_parameters(const BlockOps& block, const LayerContext& context);
/// Parameters of a block that one token meets: of the experts, only its own.
[[nodiscard]] double parameters_met(const BlockOps& block);
/// Numbers of Adafactor's second moments on one tensor rank: a row and a column for each matrix and table, and one
/// number for each element of a vector (arXiv:1804.04235 section 3).
[[nodiscard]] double factored_moments(const BlockOps& block, const LayerContext& context);
/// Elements of the vocabulary's table on one tensor rank, tied or not, and of its trained copy. 0 where the block has
/// none.
[[nodiscard]] double local_table(const BlockOps& block, const LayerContext& context);
[[nodiscard]] double local_table_copy(const BlockOps& block, const LayerContext& context);

/// Parameters of one dense layer of the model: of its matrices, of all weights, and of weights that every tensor rank
/// holds whole.
[[nodiscard]] double layer_matmul_parameters(const Transformer& model);
[[nodiscard]] double layer_parameters(const Transformer& model);
[[nodiscard]] double replicated_layer_parameters(const Transformer& model);
/// Parameters of one norm: weight, and bias where the norm has one.
[[nodiscard]] double norm_parameters(const Transformer& model);
/// Parameters of the input embedding: token table, learned positions, BLOOM's norm.
[[nodiscard]] double embedding_parameters(const Transformer& model);
/// Parameters of the final norm and, if untied, of the output head.
[[nodiscard]] double head_parameters(const Transformer& model);
/// Parameters of the whole model: every kind of layer and both ends. Trained copies of its weights are left out.
[[nodiscard]] double total_parameters(const Transformer& model);
/// Parameters of the weights that training changes, copies included.
[[nodiscard]] double trained_parameters(const Transformer& model);
/// Parameters of trained copies.
[[nodiscard]] double copied_parameters(const Transformer& model);
/// Parameters of the weights that are narrower in memory than the job's.
[[nodiscard]] double narrow_parameters(const Transformer& model);
/// The part of total_parameters() that one token meets. Both tables count.
[[nodiscard]] double active_parameters(const Transformer& model);
/// Returns the model without its layers for multi-token prediction, as published counts of parameters leave them out.
[[nodiscard]] Transformer without_prediction(Transformer model);

}  // namespace foretoken::model
