// A product whose weight is whole on every rank. Under sequence parallelism each rank multiplies its own tokens.
#include <algorithm>

#include "sim/model/blocks/parts.h"
#include "sim/model/op_writer.h"
#include "sim/model/products.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {

OwnKernels whole_product(const Cut& cut, const WholeProduct& p) {
  const std::int64_t rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(cut.region));
  const int adds = cut.context.adds_to_bytes();
  const double added = adds > 0 ? 0 : cut.context.gradient_accumulation_bytes * real(p.n) * real(p.k);
  const bool quantises = cut.quantises() && p.precision == cut.product_precision();
  const double quantised = quantises ? quantise_whole_bytes(cut) * real(rows) * real(p.n) : 0;
  const double transposed = quantises ? transpose_bytes(cut) * real(rows) * real(p.k) : 0;
  const double scales = quantises ? arrange_scales_bytes(cut) : 0;
  const double input = real(rows) * real(p.k), output = real(rows) * real(p.n), weight = real(p.n) * real(p.k);
  OwnKernels work;
  work.forward = [=](OpWriter& ops) {
    arrange_scales(ops, scales, {input, weight});
    ops.gemm(p.forward, OpRole::kLinear, {.m = rows, .n = p.n, .k = p.k, .precision = p.precision});
  };
  work.backward = [=](OpWriter& ops) {
    ops.memory("quantise", OpRole::kElementwise, quantised);
    arrange_scales(ops, scales, {output, weight});
    ops.gemm(p.input_gradient, OpRole::kLinear,
             {.m = rows, .n = p.k, .k = p.n, .pass = GemmPass::kInputGradient, .precision = p.precision});
    ops.memory("transpose", OpRole::kElementwise, transposed, BackwardPart::kWeight);
    arrange_scales(ops, scales, {output, input}, BackwardPart::kWeight);
    ops.gemm(p.weight_gradient, OpRole::kLinear,
             {.m = p.n,
              .n = p.k,
              .k = rows,
              .pass = GemmPass::kWeightGradient,
              .precision = p.precision,
              .adds_to_bytes = adds});
    ops.memory("accumulate gradient", OpRole::kAccumulate, added, BackwardPart::kWeight);
  };
  work.forward_flop_per_token = 2.0 * real(p.n) * real(p.k);
  return work;
}

IdList<WeightId> add_whole_weight(BlockOps& block, std::string_view name, std::int64_t n, std::int64_t k) {
  return {block.add(Weight{.name = name, .kind = WeightKind::kMatrix, .rows = n, .columns = k}),
          block.add(bias_weight(name, n, Split::kWhole))};
}

}  // namespace foretoken::model
