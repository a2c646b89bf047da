// Operations of a step, counted from products and attention cores.
//
// Every count is a whole number in a double. Counts above 2^53 stay exact: each is a multiple of the sequence length
// times the hidden size, and these contain large powers of two.
#include "sim/model/counts/flop.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/base/kernel.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/tuning/parts.h"

namespace foretoken::model {
namespace {

// A block of one half of an encoder-decoder has a sequence of its own.
double own_sequence(const BlockOps& block, double sequence) {
  return block.sequence > 0 ? real(block.sequence) : sequence;
}

template <class Wanted>
double product_flop_of(const BlockOps& block, double of_model, const Wanted& wanted) {
  const double sequence = own_sequence(block, of_model);
  double elements = 0, own = 0;
  for (const Op& op : block.ops) {
    if (!wanted(op)) continue;
    if (const auto* kernels = std::get_if<OwnKernels>(&op.work)) own += kernels->forward_flop_per_token;
    const auto* const product = std::get_if<Product>(&op.work);
    if (product == nullptr) continue;
    const Weight& weight = block[*op.weights.begin()];
    elements += product->token_share * real(weight.rows) * real(weight.columns);
  }
  return 2.0 * sequence * elements + sequence * own;
}

// Operations of the products that recomputation by op repeats.
double flop_by_op(const BlockOps& block, double sequence) {
  sequence = own_sequence(block, sequence);
  double elements = 0, own = 0;
  for (const Op& op : block.ops) {
    if (op.kept_by_op) continue;
    if (const auto* product = std::get_if<Product>(&op.work)) {
      const Weight& weight = block[*op.weights.begin()];
      elements += product->token_share * product->repeated_share * real(weight.rows) * real(weight.columns);
    } else if (const auto* kernels = std::get_if<OwnKernels>(&op.work);
               kernels != nullptr && op.role != OpRole::kComm) {
      own += kernels->forward_flop_per_token;
    }
  }
  return 2.0 * sequence * elements + sequence * own;
}

double forward_flop(const BlockOps& block, double sequence) {
  return product_flop(block, sequence) + core_flop(block, sequence);
}

// Operations for gradients of weights that do not train: nobody runs them.
double frozen_flop(const BlockOps& block, double sequence) {
  return product_flop_of(block, sequence, [&](const Op& op) {
    if (std::holds_alternative<OwnKernels>(op.work)) return is_frozen(block, op);
    return std::holds_alternative<Product>(op.work) && !block[*op.weights.begin()].trainable;
  });
}

double repeated_flop(const BlockOps& block, double sequence, RecomputedWork work) {
  double repeated = 0;
  if (work != RecomputedWork::kNone) repeated += core_flop(block, sequence);
  if (work == RecomputedWork::kWholeLayer) repeated += product_flop(block, sequence);
  return repeated;
}

}  // namespace

double product_flop(const BlockOps& block, double sequence) {
  return product_flop_of(block, sequence, [](const Op&) { return true; });
}

double product_flop(const BlockOps& block, double sequence, SelectiveModules modules) {
  if (modules.by_op) return flop_by_op(block, sequence);
  return product_flop_of(block, sequence, [&](const Op& op) { return meet(op.repeated_by, modules); });
}

namespace {

// Tokens that a query is counted to meet: all of the sequence without a window. A causal mask leaves half of the tokens
// counted here, so the keys of a window under such a mask count twice. A window of the whole sequence is none.
double met(const AttentionCore& core, double sequence) {
  if (core.keys > 0) return real(core.keys);
  if (core.window == 0 || real(core.window) >= sequence) return sequence;
  const AttentionShape shape{.kv_length = std::llround(sequence), .causal = core.causal, .window = core.window};
  return (core.causal ? 2 : 1) * shape.keys_per_query();
}

template <class Wanted>
double core_flop_of(const BlockOps& block, double of_model, const Wanted& wanted) {
  const double sequence = own_sequence(block, of_model);
  double flop = 0;
  for (const Op& op : block.ops)
    if (const auto* core = std::get_if<AttentionCore>(&op.work); core != nullptr && wanted(*core))
      flop += 2.0 * sequence * met(*core, sequence) * real(core->heads) * real(core->head_dim + core->values_dim());
  return flop;
}

}  // namespace

double core_flop(const BlockOps& block, double sequence) {
  return core_flop_of(block, sequence, [](const AttentionCore&) { return true; });
}

namespace {

// The context of the layers. The halves of an encoder-decoder count by their own lengths.
LayerContext context_of(const Transformer& model, Lengths lengths) {
  LayerContext context;
  if (!model.encoder_decoder) return context;
  context.sequence = lengths.sequence;
  context.other_sequence = lengths.decoder;
  return context;
}

std::vector<LayerRunOps> layers_of(const Transformer& model, Lengths lengths) {
  return decoder_layers(model, context_of(model, lengths));
}

// An encoder's head reads one token of each sequence for some of its products.
BlockOps head_at(const Transformer& model, Lengths lengths) {
  LayerContext context = context_of(model, lengths);
  context.sequence = lengths.sequence;
  return head_block(model, context);
}

// Operations that a causal mask leaves out: half of the attention cores that have one.
double masked_flop(const BlockOps& block, double sequence) {
  return 0.5 * core_flop_of(block, sequence, [](const AttentionCore& core) { return core.causal; });
}

}  // namespace

Flop model_flop_per_sequence(const Transformer& model, Lengths lengths) {
  expects(lengths.sequence > 0, "a sequence has at least one token");
  const double s = real(lengths.sequence);
  double layers = 0, frozen = 0;
  for (const LayerRunOps& run : layers_of(model, lengths)) {
    layers += real(run.count) * forward_flop(run.ops, s);
    frozen += real(run.count) * frozen_flop(run.ops, s);
  }
  const BlockOps head = head_at(model, lengths);
  return Flop(3.0 * (layers + forward_flop(head, s)) - frozen - frozen_flop(head, s));
}

namespace {

double expert_flop(const BlockOps& block, double sequence) {
  return product_flop_of(block, sequence, [&](const Op& op) {
    return std::any_of(op.weights.begin(), op.weights.end(), [&](WeightId id) { return block[id].copies > 1; });
  });
}

}  // namespace

Flop expert_flop_per_sequence(const Transformer& model, Lengths lengths) {
  if (!model.experts) return {};
  double flop = 3 * expert_flop(head_block(model, {}), real(lengths.sequence));
  for (const LayerRunOps& run : layers_of(model, lengths))
    flop += 3 * real(run.count) * expert_flop(run.ops, real(lengths.sequence));
  return Flop(flop);
}

Flop causal_model_flop_per_sequence(const Transformer& model, Lengths lengths) {
  const double s = real(lengths.sequence);
  double masked = masked_flop(head_at(model, lengths), s);
  for (const LayerRunOps& run : layers_of(model, lengths)) masked += real(run.count) * masked_flop(run.ops, s);
  return model_flop_per_sequence(model, lengths) - Flop(3 * masked);
}

Flop hardware_flop_per_sequence(const Transformer& model, Lengths lengths, RecomputedWork work,
                                const std::vector<LayerCount>& recomputed) {
  const std::vector<LayerRunOps> kinds = layers_of(model, lengths);
  double repeated = 0;
  for (const LayerCount& layers : recomputed) {
    const BlockOps& block = kinds.at(static_cast<std::size_t>(layers.kind)).ops;
    repeated += static_cast<double>(layers.count) * repeated_flop(block, real(lengths.sequence), work);
  }
  return model_flop_per_sequence(model, lengths) + Flop(repeated);
}

Flop module_flop_per_sequence(const Transformer& model, Lengths lengths, SelectiveModules modules) {
  double flop = 0;
  for (const LayerRunOps& run : layers_of(model, lengths))
    flop += real(run.count) * product_flop(run.ops, real(lengths.sequence), modules);
  return Flop(flop);
}

}  // namespace foretoken::model
