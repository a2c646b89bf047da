// The matrices among a block's weights.
#include "sim/model/counts/matrices.h"

#include <algorithm>

#include "sim/model/products.h"

namespace foretoken::model {

std::set<std::pair<std::int64_t, std::int64_t>> matrix_shapes(const BlockOps& block, const LayerContext& context) {
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const Weight& weight : block.weights)
    if (weight.kind == WeightKind::kMatrix) shapes.emplace(local_rows(weight, context), local_columns(weight, context));
  return shapes;
}

double largest_matrix(const BlockOps& block, const LayerContext& context) {
  double largest = 0;
  for (const Weight& weight : block.weights)
    if (weight.kind == WeightKind::kMatrix) {
      const double elements = real(weight.rows) * real(weight.columns);
      largest = std::max(largest, weight.split == Split::kWhole ? elements : elements / context.tensor);
    }
  return largest;
}

int stored_matrices(const BlockOps& block) {
  int count = 0;
  for (const Weight& weight : block.weights)
    if (weight.kind == WeightKind::kMatrix) count += weight.stored_as;
  return count;
}

}  // namespace foretoken::model
