// The kernels of a product of all tokens with a weight that tensor ranks share.
#pragma once

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/op_writer.h"

namespace foretoken::model {

void product_forward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight);
void product_backward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight);

/// Returns the rows or columns of a weight on one tensor rank.
[[nodiscard]] std::int64_t local_rows(const Weight& weight, const LayerContext& context);
[[nodiscard]] std::int64_t local_columns(const Weight& weight, const LayerContext& context);

}  // namespace foretoken::model
