// The kernels of a block: each op writes its own, in order for the forward pass and in reverse for the backward pass.
//
// Memory-bound kernels are counted by the bytes that they read and write once, 16-bit activations; a dropout mask is
// one byte an element. Byte counts per kernel: arXiv:2205.05198 section 4 for what is stored, the kernels' reads and
// writes on top (docs/modeller/layer.md has the table).
#include "sim/model/kernels.h"

#include "sim/model/attention_ops.h"
#include "sim/model/op_writer.h"
#include "sim/model/products.h"

namespace foretoken::model {
namespace {

/// Writes the kernels of one pass of an op, one overload for each kind of work.
class Forward {
 public:
  Forward(OpWriter& ops, const Cut& cut, const BlockOps& block, const Op& op)
      : ops_(ops), cut_(cut), block_(block), op_(op) {}

  void operator()(const Product&) const { product_forward(ops_, cut_, op_, block_[*op_.weights.begin()]); }
  void operator()(const AttentionCore& core) const { core_forward(ops_, cut_, core); }
  void operator()(const MemoryBound& kernel) const { ops_.memory(op_.name, op_.role, kernel.forward_bytes); }
  void operator()(const Exchange& exchange) const {
    if (exchange.forward) ops_.collective(op_.name, *exchange.forward, exchange.payload);
  }
  void operator()(const OwnKernels& own) const {
    if (own.forward) own.forward(ops_);
  }

 private:
  OpWriter& ops_;
  const Cut& cut_;
  const BlockOps& block_;
  const Op& op_;
};

class Backward {
 public:
  Backward(OpWriter& ops, const Cut& cut, const BlockOps& block, const Op& op)
      : ops_(ops), cut_(cut), block_(block), op_(op) {}

  void operator()(const Product&) const { product_backward(ops_, cut_, op_, block_[*op_.weights.begin()]); }
  void operator()(const AttentionCore& core) const { core_backward(ops_, cut_, core); }
  void operator()(const MemoryBound& kernel) const {
    ops_.memory(kernel.backward_name, op_.role, kernel.backward_bytes);
  }
  void operator()(const Exchange& exchange) const {
    if (exchange.backward) ops_.collective(exchange.backward_name, *exchange.backward, exchange.payload);
  }
  void operator()(const OwnKernels& own) const {
    if (own.backward) own.backward(ops_);
  }

 private:
  OpWriter& ops_;
  const Cut& cut_;
  const BlockOps& block_;
  const Op& op_;
};

template <class Wanted>
void write_forward(OpWriter& ops, const BlockOps& block, const LayerContext& context, const Wanted& wanted) {
  const Cut cut(context);
  for (const Op& op : block.ops)
    if (wanted(op)) std::visit(Forward(ops, cut, block, op), op.work);
}

}  // namespace

OpList forward_kernels(const BlockOps& block, const LayerContext& context) {
  OpWriter ops(context);
  write_forward(ops, block, context, [](const Op&) { return true; });
  return ops.take();
}

OpList backward_kernels(const BlockOps& block, const LayerContext& context) {
  const Cut cut(context);
  OpWriter ops(context);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) std::visit(Backward(ops, cut, block, *op), op->work);
  return ops.take();
}

OpList recomputed_kernels(const BlockOps& block, const LayerContext& context, RecomputeGranularity granularity,
                          SelectiveModules modules) {
  if (granularity == RecomputeGranularity::kNone) return {};
  if (granularity == RecomputeGranularity::kFull) return forward_kernels(block, context);
  // The attention core is recomputed first.
  OpWriter ops(context);
  if (modules.core_attention)
    write_forward(ops, block, context, [](const Op& op) { return op.repeated_by.core_attention; });
  modules.core_attention = false;
  write_forward(ops, block, context,
                [&](const Op& op) { return !op.repeated_by.core_attention && meet(op.repeated_by, modules); });
  return ops.take();
}

}  // namespace foretoken::model
