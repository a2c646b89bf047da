// The kernels of a block: each op writes its own, in order for the forward pass and in reverse for the backward pass.
//
// A memory-bound kernel counts the bytes that it reads and writes once. Activations have 16 bits; a dropout mask has
// one byte an element. Section 4 of arXiv:2205.05198 gives the stored bytes; docs/modeller/layer.md adds the kernels'
// reads and writes in a table.
#include "sim/model/kernels.h"

#include <cmath>
#include <utility>

#include "sim/model/attention_ops.h"
#include "sim/model/op_writer.h"
#include "sim/model/products.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {
namespace {

/// An op of a block, and the list that its kernels go to.
struct Site {
  OpWriter& ops;
  const Cut& cut;
  const BlockOps& block;
  const Op& op;

  [[nodiscard]] const Weight& matrix() const { return block[*op.weights.begin()]; }
};

/// Writes the kernels of an op in the forward pass. There is one overload for each kind of work.
struct Forward {
  Site at;

  void operator()(const Product& product) const {
    product_forward(at.ops, at.cut.of_share(product.token_share), at.op, at.matrix());
  }
  void operator()(const AttentionCore& core) const { core_forward(at.ops, at.cut, core); }
  void operator()(const MemoryBound& kernel) const { at.ops.memory(at.op.name, at.op.role, kernel.forward_bytes); }
  void operator()(const Exchange& exchange) const {
    if (exchange.forward) at.ops.collective(at.op.name, *exchange.forward, exchange.payload);
  }
  void operator()(const OwnKernels& own) const {
    if (own.forward) own.forward(at.ops);
  }
};

/// A weight that does not train has no gradient: only the part for the input of a whole backward pass stands. No op
/// runs beside one that is gone.
void frozen_backward(const Site& at, OpWriter& whole) {
  const OpList ops = whole.take();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].part == BackwardPart::kWeight) continue;
    LayerOp kept = ops[i];
    kept.beside_next = kept.beside_next && i + 1 < ops.size() && ops[i + 1].part == BackwardPart::kInput;
    at.ops.add(std::move(kept));
  }
}

/// Writes the kernels of an op in the backward pass, in the same way.
struct Backward {
  Site at;

  void operator()(const Product& product) const {
    const Cut cut = at.cut.of_share(product.token_share);
    if (at.matrix().trainable) return product_backward(at.ops, cut, at.op, at.matrix());
    OpWriter whole(at.cut.context);
    product_backward(whole, cut, at.op, at.matrix());
    frozen_backward(at, whole);
  }
  void operator()(const AttentionCore& core) const { core_backward(at.ops, at.cut, core); }
  void operator()(const MemoryBound& kernel) const {
    at.ops.memory(kernel.backward_name, at.op.role, kernel.backward_bytes);
  }
  void operator()(const Exchange& exchange) const {
    if (exchange.backward) at.ops.collective(exchange.backward_name, *exchange.backward, exchange.payload);
  }
  void operator()(const OwnKernels& own) const {
    if (!own.backward) return;
    if (!is_frozen(at.block, at.op)) return own.backward(at.ops);
    OpWriter whole(at.cut.context);
    own.backward(whole);
    frozen_backward(at, whole);
  }
};

// Recomputation by op repeats a part of each product, and everything that is neither fused attention nor a collective,
// unless the op says that its output is kept. The products of experts are repeated whole.
void write_forward_by_op(OpWriter& ops, const BlockOps& block, const LayerContext& context) {
  const LayerContext own = block.own(context);
  const Cut cut(own);
  for (const Op& op : block.ops) {
    if (op.kept_by_op) continue;
    if (const auto* product = std::get_if<Product>(&op.work)) {
      Weight part = block[*op.weights.begin()];
      part.rows = static_cast<std::int64_t>(std::llround(real(part.rows) * product->repeated_share));
      if (part.rows > 0) product_forward(ops, cut.of_share(product->token_share), op, part);
    } else if (!std::holds_alternative<AttentionCore>(op.work) && !std::holds_alternative<Exchange>(op.work) &&
               op.role != OpRole::kComm) {
      std::visit(Forward{{ops, cut, block, op}}, op.work);
    }
  }
}

template <class Wanted>
void write_forward(OpWriter& ops, const BlockOps& block, const LayerContext& context, const Wanted& wanted) {
  const LayerContext own = block.own(context);
  const Cut cut(own);
  for (const Op& op : block.ops)
    if (wanted(op)) std::visit(Forward{{ops, cut, block, op}}, op.work);
}

}  // namespace

OpList forward_kernels(const BlockOps& block, const LayerContext& context) {
  OpWriter ops(context);
  write_forward(ops, block, context, [](const Op&) { return true; });
  return ops.take();
}

OpList backward_kernels(const BlockOps& block, const LayerContext& context) {
  const LayerContext own = block.own(context);
  const Cut cut(own);
  OpWriter ops(context);
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op)
    std::visit(Backward{{ops, cut, block, *op}}, op->work);
  return ops.take();
}

OpList recomputed_kernels(const BlockOps& block, const LayerContext& context, RecomputeGranularity granularity,
                          SelectiveModules modules) {
  if (granularity == RecomputeGranularity::kNone) return {};
  if (granularity == RecomputeGranularity::kFull) return forward_kernels(block, context);
  OpWriter ops(context);
  if (modules.by_op) {
    write_forward_by_op(ops, block, context);
    return ops.take();
  }
  // The attention core is recomputed first.
  if (modules.core_attention)
    write_forward(ops, block, context, [](const Op& op) { return op.repeated_by.core_attention; });
  modules.core_attention = false;
  write_forward(ops, block, context,
                [&](const Op& op) { return !op.repeated_by.core_attention && meet(op.repeated_by, modules); });
  return ops.take();
}

}  // namespace foretoken::model
