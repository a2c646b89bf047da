// The kernels of a product with a weight, forward and backward, with the collectives of tensor parallelism.
//
// Shapes follow megatron/core/tensor_parallel/layers.py. T tokens reach a tensor-parallel group. In sequence-parallel
// regions each rank holds R = T/t of them (R = T without sequence parallelism). A backward collective runs beside the
// GEMM that follows it: the input is gathered again beside the input gradient, and the input gradient is reduced beside
// the weight gradient.
#include "sim/model/products.h"

#include "sim/model/micro_pipeline.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

/// One product with its sizes on one rank.
struct Sizes {
  std::string_view name, input_gradient, weight_gradient;
  OpRole role;
  std::int64_t n, k;       // outputs and inputs
  double inputs, outputs;  // outputs and inputs, for byte counts
  bool int8_forward = false;
};

void quantise(OpWriter& ops, const Cut& cut, double columns) {
  if (cut.quantises()) ops.memory("quantise", OpRole::kElementwise, quantise_whole_bytes(cut) * cut.tokens * columns);
}

// Under sequence parallelism the gradient is quantised before it is gathered.
void quantise_output_gradient(OpWriter& ops, const Cut& cut, double columns) {
  if (!cut.context.sequence_parallel)
    quantise(ops, cut, columns);
  else if (cut.quantises())
    ops.memory("quantise", OpRole::kElementwise, quantise_bytes(cut) * cut.region * columns);
}

void transpose_gathered(OpWriter& ops, const Cut& cut, double columns) {
  ops.memory("transpose", OpRole::kElementwise, transpose_bytes(cut) * cut.tokens * columns, BackwardPart::kWeight);
}

bool overlaps(const Cut& cut) {
  return cut.context.tensor_overlap == TensorOverlap::kUserbuffers && cut.context.sequence_parallel &&
         cut.context.tensor > 1;
}

// Userbuffers run a GEMM with its collective as NVIDIA's recipes for 70B to 405B on Hopper state it (NVIDIA/NeMo
// 0594a70, nemo/collections/llm/recipes/tp_overlap_configs/userbuffers.py).
//
// Ring exchange: a rank computes with its own part of the tokens while the next part arrives. The copies take no
// multiprocessors.
Userbuffers ring_exchange(const Cut& cut) {
  return overlaps(cut) ? Userbuffers{.pieces = cut.context.tensor} : Userbuffers{};
}
// Pipeline: four pieces, each reduced and scattered beside the next one; num_sm 16 (fc2) and 24 (projection).
constexpr int kReduceScatterPieces = 4;
Userbuffers pipelined(const Cut& cut) {
  return overlaps(cut) ? Userbuffers{.pieces = kReduceScatterPieces, .held_processors = 16} : Userbuffers{};
}
// Bulk: the collective of another tensor runs beside the whole GEMM; num_sm 2 to 4, and 24 beside the weight gradient
// of qkv.
Userbuffers bulk(const Cut& cut) { return overlaps(cut) ? Userbuffers{.held_processors = 4} : Userbuffers{}; }
// The last piece of a pipelined reduce-scatter runs after its GEMM (Megatron-Bridge performance guide).
constexpr double kExposedReduceScatter = 1.0 / kReduceScatterPieces;

// The head computes in 16 bit even when layers quantise.
Precision precision_of(const Cut& cut, const Sizes& sizes) {
  const bool head_in_16_bit = sizes.role == OpRole::kHead && cut.quantises();
  return head_in_16_bit ? Precision::kBf16 : cut.product_precision();
}

// Scales are arranged before a collective that runs beside the product.
void forward_scales(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  arrange_scales(ops, arrange_scales_bytes(cut), {cut.tokens * sizes.inputs, sizes.outputs * sizes.inputs});
}

void input_gradient_scales(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  arrange_scales(ops, arrange_scales_bytes(cut), {cut.tokens * sizes.outputs, sizes.outputs * sizes.inputs});
}

void weight_gradient_scales(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  arrange_scales(ops, arrange_scales_bytes(cut), {cut.tokens * sizes.outputs, cut.tokens * sizes.inputs},
                 BackwardPart::kWeight);
}

GemmShape forward_shape(const Cut& cut, const Sizes& sizes) {
  const Precision precision = sizes.int8_forward ? Precision::kInt8 : precision_of(cut, sizes);
  return {.m = cut.T, .n = sizes.n, .k = sizes.k, .precision = precision};
}

GemmShape input_gradient_shape(const Cut& cut, const Sizes& sizes) {
  return {
      .m = cut.T, .n = sizes.k, .k = sizes.n, .pass = GemmPass::kInputGradient, .precision = precision_of(cut, sizes)};
}

void forward_gemm(OpWriter& ops, const Cut& cut, const Sizes& sizes, Userbuffers userbuffers) {
  ops.gemm(sizes.name, sizes.role, forward_shape(cut, sizes), userbuffers);
}

void input_gradient(OpWriter& ops, const Cut& cut, const Sizes& sizes, Userbuffers userbuffers) {
  ops.gemm(sizes.input_gradient, sizes.role, input_gradient_shape(cut, sizes), userbuffers);
}

void weight_gradient_gemm(OpWriter& ops, const Cut& cut, const Sizes& sizes, Userbuffers userbuffers) {
  ops.gemm(sizes.weight_gradient, sizes.role,
           {.m = sizes.n,
            .n = sizes.k,
            .k = cut.T,
            .pass = GemmPass::kWeightGradient,
            .precision = precision_of(cut, sizes),
            .adds_to_bytes = cut.context.adds_to_bytes()},
           userbuffers);
}

void accumulate(OpWriter& ops, const Cut& cut, const Sizes& sizes, std::string_view name) {
  if (cut.context.fused_accumulation) return;
  const double bytes =
      cut.context.gradient_accumulation_bytes * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  ops.memory(name, OpRole::kAccumulate, bytes, BackwardPart::kWeight);
}

void weight_gradient(OpWriter& ops, const Cut& cut, const Sizes& sizes, Userbuffers userbuffers = {}) {
  weight_gradient_gemm(ops, cut, sizes, userbuffers);
  accumulate(ops, cut, sizes, "accumulate gradient");
}

void gather_tokens(OpWriter& ops, const Cut& cut, double width) {
  if (cut.context.sequence_parallel)
    ops.collective("gather tokens", CollectiveKind::kAllGather, cut.gathered_bytes(width), overlaps(cut));
}

void column_forward(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  forward_scales(ops, cut, sizes);
  if (is_micro_pipelined(cut))
    return gather_and_multiply(ops, cut,
                               {sizes.name, sizes.role, forward_shape(cut, sizes), cut.gathered_bytes(sizes.inputs)});
  gather_tokens(ops, cut, sizes.inputs);
  forward_gemm(ops, cut, sizes, ring_exchange(cut));
}

// The input gradient must be summed over tensor ranks. PyTorch's compiler does not fuse its reduce-scatter: it stands
// behind the sum of several products (queries, keys and values; gate and up). With sequence parallelism a rank keeps
// only a shard of the input, so the input is gathered again.
void column_backward(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  const bool beside = cut.context.overlap_backward_collectives;
  const double payload = cut.whole_bytes(sizes.inputs);
  quantise(ops, cut, sizes.outputs);
  input_gradient_scales(ops, cut, sizes);
  if (cut.context.sequence_parallel) {
    ops.collective("gather input again", CollectiveKind::kAllGather, cut.gathered_bytes(sizes.inputs), beside,
                   BackwardPart::kWeight);
    input_gradient(ops, cut, sizes, bulk(cut));
    transpose_gathered(ops, cut, sizes.inputs);
    weight_gradient_scales(ops, cut, sizes);
    ops.collective("reduce-scatter input gradient", CollectiveKind::kReduceScatter, payload, beside);
    weight_gradient(ops, cut, sizes, bulk(cut));
    return;
  }
  input_gradient(ops, cut, sizes, {});
  transpose_gathered(ops, cut, sizes.inputs);
  weight_gradient_scales(ops, cut, sizes);
  if (beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, payload, true);
  weight_gradient(ops, cut, sizes);
  if (!beside) ops.collective("all-reduce input gradient", CollectiveKind::kAllReduce, payload);
}

void row_forward(OpWriter& ops, const Cut& cut, const Sizes& sizes, bool sums) {
  const double payload = cut.whole_bytes(sizes.outputs);
  quantise(ops, cut, sizes.inputs);
  forward_scales(ops, cut, sizes);
  if (sums && is_micro_pipelined(cut))
    return multiply_and_scatter(ops, cut, {sizes.name, sizes.role, forward_shape(cut, sizes), payload});
  if (sums && overlaps(cut))
    ops.collective("reduce-scatter output beside", CollectiveKind::kReduceScatter,
                   (1 - kExposedReduceScatter) * payload, true);
  forward_gemm(ops, cut, sizes, sums ? pipelined(cut) : Userbuffers{});
  if (!sums) return;
  if (overlaps(cut))
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, kExposedReduceScatter * payload);
  else if (cut.context.sequence_parallel)
    ops.collective("reduce-scatter output", CollectiveKind::kReduceScatter, payload);
  else
    ops.collective("all-reduce output", CollectiveKind::kAllReduce, payload);
}

void row_backward(OpWriter& ops, const Cut& cut, const Sizes& sizes, bool sums) {
  if (sums) quantise_output_gradient(ops, cut, sizes.outputs);
  input_gradient_scales(ops, cut, sizes);
  if (sums && is_micro_pipelined(cut)) {
    gather_and_multiply(
        ops, cut,
        {sizes.input_gradient, sizes.role, input_gradient_shape(cut, sizes), cut.gathered_bytes(sizes.outputs)});
  } else {
    if (sums) gather_tokens(ops, cut, sizes.outputs);
    input_gradient(ops, cut, sizes, sums ? ring_exchange(cut) : Userbuffers{});
  }
  if (sums && cut.context.sequence_parallel) transpose_gathered(ops, cut, sizes.outputs);
  weight_gradient_scales(ops, cut, sizes);
  weight_gradient(ops, cut, sizes);
}

void vocabulary_forward(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  if (cut.context.sequence_parallel)
    ops.collective("gather head input", CollectiveKind::kAllGather, cut.whole_bytes(sizes.inputs));
  forward_gemm(ops, cut, sizes, {});
}

void vocabulary_backward(OpWriter& ops, const Cut& cut, const Sizes& sizes) {
  const bool beside = cut.context.overlap_backward_collectives;
  const double payload = cut.whole_bytes(sizes.inputs);
  if (cut.context.sequence_parallel)
    ops.collective("gather head input again", CollectiveKind::kAllGather, payload, beside, BackwardPart::kWeight);
  input_gradient(ops, cut, sizes, {});
  const CollectiveKind kind =
      cut.context.sequence_parallel ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  if (beside) ops.collective("reduce head gradient", kind, payload, true);
  weight_gradient_gemm(ops, cut, sizes, {});
  if (!beside) ops.collective("reduce head gradient", kind, payload);
  accumulate(ops, cut, sizes, "accumulate head gradient");
}

Sizes sizes_of(const Cut& cut, const Op& op, const Weight& weight) {
  const auto& product = std::get<Product>(op.work);
  const std::int64_t n = local_rows(weight, cut.context), k = local_columns(weight, cut.context);
  return {op.name,
          product.input_gradient,
          product.weight_gradient,
          op.role,
          n,
          k,
          static_cast<double>(k),
          static_cast<double>(n),
          product.int8_forward};
}

}  // namespace

void arrange_scales(OpWriter& ops, double bytes, std::pair<double, double> elements, BackwardPart part) {
  for (const double each : {elements.first, elements.second})
    ops.memory("arrange scales", OpRole::kElementwise, bytes * each, part);
}

std::int64_t local_rows(const Weight& weight, const LayerContext& context) {
  const std::int64_t rows = weight.rows + weight.padding_rows;
  return weight.split == Split::kRows ? rows / context.tensor : rows;
}

std::int64_t local_columns(const Weight& weight, const LayerContext& context) {
  return weight.split == Split::kColumns ? weight.columns / context.tensor : weight.columns;
}

void product_forward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight) {
  const Sizes sizes = sizes_of(cut, op, weight);
  switch (std::get<Product>(op.work).kind) {
    case ProductKind::kColumn:
      return column_forward(ops, cut, sizes);
    case ProductKind::kRow:
      return row_forward(ops, cut, sizes, true);
    case ProductKind::kRowUnsummed:
      return row_forward(ops, cut, sizes, false);
    case ProductKind::kVocabulary:
      return vocabulary_forward(ops, cut, sizes);
  }
}

void product_backward(OpWriter& ops, const Cut& cut, const Op& op, const Weight& weight) {
  const Sizes sizes = sizes_of(cut, op, weight);
  switch (std::get<Product>(op.work).kind) {
    case ProductKind::kColumn:
      return column_backward(ops, cut, sizes);
    case ProductKind::kRow:
      return row_backward(ops, cut, sizes, true);
    case ProductKind::kRowUnsummed:
      return row_backward(ops, cut, sizes, false);
    case ProductKind::kVocabulary:
      return vocabulary_backward(ops, cut, sizes);
  }
}

}  // namespace foretoken::model
