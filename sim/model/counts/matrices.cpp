// Counts a block's weights one by one.
#include "sim/model/counts/matrices.h"

#include <algorithm>

#include "sim/model/counts/shares.h"
#include "sim/model/products.h"

namespace foretoken::model {

namespace {

// Rows and columns of one expert's matrix on one rank.
std::pair<std::int64_t, std::int64_t> expert_shape(const Weight& weight, const LayerContext& context) {
  const int ranks = ranks_of_expert(weight, context);
  const bool rows = weight.split == Split::kRows;
  return {rows ? weight.rows / ranks : weight.rows, rows ? weight.columns : weight.columns / ranks};
}

template <class Counts>
int count_stored(const BlockOps& block, const Counts& counts) {
  int count = 0;
  for (const Weight& weight : block.weights)
    if (counts(weight)) count += weight.stored_as * static_cast<int>(weight.copies);
  return count;
}

}  // namespace

std::set<std::pair<std::int64_t, std::int64_t>> matrix_shapes(const BlockOps& block, const LayerContext& context) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const Weight& weight : block.weights) {
    if (weight.kind != WeightKind::kMatrix) continue;
    if (is_of_experts(weight))
      shapes.insert(expert_shape(weight, context));
    else
      shapes.emplace(local_rows(weight, context), local_columns(weight, context));
  }
  return shapes;
}

double largest_matrix(const BlockOps& block, const LayerContext& context) {
  double largest = 0;
  for (const Weight& weight : block.weights)
    if (weight.kind == WeightKind::kMatrix) {
      const double elements = real(weight.rows) * real(weight.columns);
      const int ranks = is_of_experts(weight) ? ranks_of_expert(weight, context) : context.tensor;
      largest = std::max(largest, weight.split == Split::kWhole ? elements : elements / ranks);
    }
  return largest;
}

int stored_matrices(const BlockOps& block) {
  return count_stored(block, [](const Weight& weight) { return weight.kind == WeightKind::kMatrix; });
}

int stored_expert_matrices(const BlockOps& block) {
  return count_stored(block,
                      [](const Weight& weight) { return weight.kind == WeightKind::kMatrix && is_of_experts(weight); });
}

int stored_tensors(const BlockOps& block) {
  return count_stored(block, [](const Weight& weight) { return !weight.tied; });
}

}  // namespace foretoken::model
