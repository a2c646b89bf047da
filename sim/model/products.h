// The kernels of a product of all tokens with a weight that tensor ranks share.
#pragma once

#include <utility>

#include "sim/model/block.h"
#include "sim/model/cut.h"
#include "sim/model/op_writer.h"

namespace foretoken::model {

void product_forward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight);
void product_backward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight);

/// Appends the kernels that arrange the scales of a product's two operands, `bytes` an element. Appends nothing for 0.
void arrange_scales(OpWriter& ops, double bytes, std::pair<double, double> elements,
                    BackwardPart part = BackwardPart::kInput);

/// Returns the rows or columns of a weight on one tensor rank.
[[nodiscard]] std::int64_t local_rows(const Weight& weight, const LayerContext& context);
[[nodiscard]] std::int64_t local_columns(const Weight& weight, const LayerContext& context);

}  // namespace foretoken::model
