// The weights of a block as memory, sharding and eager kernels see them.
#pragma once

#include <set>
#include <utility>

#include "sim/model/block.h"

namespace foretoken::model {

/// Returns the distinct shapes of the matrices on one tensor rank: rows, columns.
[[nodiscard]] std::set<std::pair<std::int64_t, std::int64_t>> matrix_shapes(const BlockOps& block,
                                                                            const LayerContext& context);

/// Counts the elements of the largest matrix on one tensor rank.
[[nodiscard]] double largest_matrix(const BlockOps& block, const LayerContext& context);

/// Counts the tensors that a framework gathers or reduces one by one. Norms and biases are too small to be sharded.
[[nodiscard]] int stored_matrices(const BlockOps& block);
/// Counts those of stored_matrices() that are weights of experts, over all expert ranks.
[[nodiscard]] int stored_expert_matrices(const BlockOps& block);

/// Counts all tensors that a framework stores the block's weights in: matrices, tables, norms and biases. A tied table
/// counts where the embedding holds it.
[[nodiscard]] int stored_tensors(const BlockOps& block);

}  // namespace foretoken::model
