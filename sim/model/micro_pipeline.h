// Asynchronous tensor parallelism of PyTorch: products cut into one part a rank, beside copies of the parts.
#pragma once

#include <string_view>

#include "sim/model/cut.h"
#include "sim/model/op_writer.h"

namespace foretoken::model {

/// A product whose input is gathered over the tensor ranks, or whose output is summed and scattered over them.
struct FusedProduct {
  std::string_view name;
  OpRole role = OpRole::kLinear;
  GemmShape whole;     ///< of all tokens of the group
  double payload = 0;  ///< bytes of the gathered input, or of the output before it is summed
};

/// Returns true where the compiler fuses products with their collectives.
[[nodiscard]] bool is_micro_pipelined(const Cut& cut);

/// Appends torch.ops.symm_mem.fused_all_gather_matmul. Precondition: is_micro_pipelined().
void gather_and_multiply(OpWriter& ops, const Cut& cut, const FusedProduct& product);
/// Appends torch.ops.symm_mem.fused_matmul_reduce_scatter. Precondition: is_micro_pipelined().
void multiply_and_scatter(OpWriter& ops, const Cut& cut, const FusedProduct& product);

}  // namespace foretoken::model
