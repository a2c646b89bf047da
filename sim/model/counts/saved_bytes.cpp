// Saved and short-lived bytes of a block, summed over the tensors that its ops save.
//
// Two moments of the backward pass can need the most memory.
//   MLP        While the activation is differentiated, the gradients of both its sides are alive, and fc2's input is
//              already released. Before that, fc2 needs its output's gradient gathered under sequence parallelism.
//   attention  While unfused attention is differentiated, one score-sized gradient is alive. The MLP's tensors are
//              released by then.
// An op states its gradients as `working_bytes`. A tensor that is `freed_early` is released before the backward pass
// reaches the ops ahead of those that save it.
#include "sim/model/counts/saved_bytes.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/cut.h"

namespace foretoken::model {
namespace {

std::vector<bool> saved_tensors(const BlockOps& block) {
  std::vector<bool> saved(block.tensors.size(), false);
  for (const Op& op : block.ops)
    for (const TensorId id : op.saves) saved[id.index()] = true;
  return saved;
}

// Sums the bytes of the saved tensors that `wanted` selects.
template <class Wanted>
double sum_saved(const BlockOps& block, const Wanted& wanted) {
  const std::vector<bool> saved = saved_tensors(block);
  double bytes = 0;
  for (std::size_t tensor = 0; tensor < saved.size(); ++tensor)
    if (saved[tensor] && wanted(block.tensors[tensor])) bytes += block.tensors[tensor].bytes;
  return bytes;
}

// Bytes of the tensors that `modules` make again while `op`, which belongs to one of them, is differentiated.
double recomputed_bytes(const BlockOps& block, const Op& op, const SelectiveModules& modules) {
  return sum_saved(block, [&](const Tensor& tensor) {
    return meet(tensor.dropped_by, modules) && meet(tensor.dropped_by, op.repeated_by);
  });
}

double largest_moment(const BlockOps& block, const SelectiveModules& modules) {
  double largest = 0, freed = 0;
  std::vector<bool> counted(block.tensors.size(), false);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    if (op->working_bytes != 0)
      largest = std::max(largest, op->working_bytes - freed + recomputed_bytes(block, *op, modules));
    for (const TensorId id : op->saves)
      if (block[id].freed_early && !counted[id.index()]) {
        counted[id.index()] = true;
        freed += block[id].bytes;
      }
  }
  return largest;
}

}  // namespace

Bytes saved_bytes(const BlockOps& block, RecomputeGranularity granularity, SelectiveModules modules) {
  if (granularity == RecomputeGranularity::kFull) return Bytes(block[block.input].bytes);
  if (granularity == RecomputeGranularity::kNone) modules = kNoModule;
  const std::vector<bool> saved = saved_tensors(block);
  double bytes = 0;
  for (std::size_t id = 0; id < saved.size(); ++id) {
    const Tensor& tensor = block.tensors[id];
    if (meet(tensor.kept_by, modules) || (saved[id] && !meet(tensor.dropped_by, modules))) bytes += tensor.bytes;
  }
  return Bytes(bytes);
}

Bytes working_bytes(const BlockOps& block, RecomputeGranularity granularity, SelectiveModules modules) {
  if (granularity == RecomputeGranularity::kFull) {
    const Bytes recomputed = saved_bytes(block, RecomputeGranularity::kNone) - Bytes(block[block.input].bytes);
    return recomputed + working_bytes(block, RecomputeGranularity::kNone);
  }
  if (granularity == RecomputeGranularity::kNone) modules = kNoModule;
  return Bytes(block.gradient_bytes + largest_moment(block, modules));
}

// A weight gradient of m x n elements sums over k tokens: it reads k m and k n elements.
Bytes bytes_for_weight_gradients(const OpList& backward, int tensor) {
  double bytes = 0;
  for (const LayerOp& op : backward) {
    const auto* const gathered = std::get_if<LayerCollective>(&op.work);
    if (gathered != nullptr && op.part == BackwardPart::kWeight && gathered->kind == CollectiveKind::kAllGather)
      bytes -= gathered->payload.value() * (1 - 1.0 / tensor);
    const auto* const shape = std::get_if<GemmShape>(&op.work);
    if (shape == nullptr || shape->pass != GemmPass::kWeightGradient) continue;
    bytes +=
        real(shape->batch) * real(shape->k) * (real(shape->m) + real(shape->n)) * bytes_per_element(shape->precision);
  }
  return Bytes(bytes);
}

Bytes boundary_bytes(const Transformer& model, const LayerContext& context) {
  return Bytes((is_wide(context.precision) ? 2 : 1) * Cut(context).stream_bytes(real(model.hidden)));
}

Bytes layer_activation_bytes(const Transformer& model, const LayerContext& context, RecomputeGranularity granularity,
                             SelectiveModules modules) {
  expects(context.tensor >= 1 && context.context >= 1, "parallel degrees are at least one");
  return saved_bytes(dense_layer(model, context), granularity, modules);
}

Bytes layer_backward_transient_bytes(const Transformer& model, const LayerContext& context,
                                     RecomputeGranularity granularity, SelectiveModules modules) {
  return working_bytes(dense_layer(model, context), granularity, modules);
}

Bytes embedding_activation_bytes(const Transformer& model, const LayerContext& context) {
  return saved_bytes(embedding_block(model, context), RecomputeGranularity::kNone);
}

Bytes head_activation_bytes(const Transformer& model, const LayerContext& context) {
  return saved_bytes(head_block(model, context), RecomputeGranularity::kNone);
}

Bytes loss_transient_bytes(const Transformer& model, const LayerContext& context) {
  return working_bytes(head_block(model, context), RecomputeGranularity::kNone);
}

}  // namespace foretoken::model
