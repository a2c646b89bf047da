// Derives the kernels of serving from the ops of training.
#include "sim/serve/served_ops.h"

#include <algorithm>
#include <variant>

#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"

namespace foretoken::serve {
namespace {

using model::LayerCollective;
using model::LayerOp;
using model::OpList;

bool is_core(const model::Op& op) { return std::holds_alternative<model::AttentionCore>(op.work); }

bool exchanges_tokens(const LayerOp& op) {
  const auto* collective = std::get_if<LayerCollective>(&op.work);
  return collective != nullptr && (collective->axis == Axis::kExpert || collective->axis == Axis::kExpertTensor);
}

bool sums_over_tensor_ranks(const LayerOp& op) {
  const auto* collective = std::get_if<LayerCollective>(&op.work);
  return collective != nullptr && collective->axis == Axis::kTensor && collective->kind == CollectiveKind::kAllReduce;
}

LayerOp over_tensor_ranks(std::string_view name, CollectiveKind kind, double payload) {
  return {.name = name, .role = model::OpRole::kComm, .work = LayerCollective{.kind = kind, .payload = Bytes(payload)}};
}

/// Puts one sum over the tensor ranks in the place of all exchanges of a mixture. The sum of shared experts joins it.
OpList without_exchanges(OpList ops, double tokens, double hidden) {
  OpList kept;
  bool after_shared = false, had = false;
  for (LayerOp& op : ops) {
    const bool joined = after_shared && sums_over_tensor_ranks(op);
    after_shared = op.name == "shared fc2";
    had = had || exchanges_tokens(op);
    if (!exchanges_tokens(op) && !joined) kept.push_back(op);
  }
  if (had)
    kept.push_back(over_tensor_ranks("sum over experts' ranks", CollectiveKind::kAllReduce, 2 * tokens * hidden));
  return kept;
}

}  // namespace

bool is_expert_product(const LayerOp& op) {
  const auto* product = std::get_if<GemmShape>(&op.work);
  return product != nullptr && product->kind == BatchKind::kGrouped;
}

bool is_of_attention(std::string_view name) {
  return name == "qkv" || name == "queries" || name == "projection" || name.starts_with("query ") ||
         name.starts_with("key-value ");
}

WeightPrecision attention_precision(const Service& service) {
  const bool wide = service.precision == WeightPrecision::kNvfp4 && service.model.latent.has_value();
  return wide ? WeightPrecision::kBf16 : beside_experts(service.precision);
}

WeightPrecision precision_of(const LayerOp& product, const Service& service) {
  if (product.role == model::OpRole::kHead) return WeightPrecision::kBf16;
  if (is_expert_product(product)) return service.precision;
  return is_of_attention(product.name) ? attention_precision(service) : beside_experts(service.precision);
}

WithoutExperts without_experts(const OpList& ops) {
  WithoutExperts layer;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const LayerOp& op = ops[i];
    const bool quantises = op.name == "quantise" && i + 1 < ops.size() && is_expert_product(ops[i + 1]);
    if (is_expert_product(op))
      layer.products.push_back(std::get<GemmShape>(op.work));
    else if (op.role != model::OpRole::kRouting && op.name != "expert activation" && !quantises)
      layer.others.push_back(op);
  }
  return layer;
}

OpList without_idle_casts(OpList ops, const Service& service) {
  const bool wide_attention =
      weight_bytes(attention_precision(service)) > weight_bytes(beside_experts(service.precision));
  if (!wide_attention) return ops;
  OpList kept;
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    const auto product =
        std::find_if(op, ops.end(), [](const LayerOp& each) { return std::holds_alternative<GemmShape>(each.work); });
    const bool casts = op->name == "quantise" || op->name == "arrange scales";
    if (!casts || product == ops.end() || !is_of_attention(product->name)) kept.push_back(*op);
  }
  return kept;
}

OpList served_layer(const model::BlockOps& block, const model::LayerContext& context, const model::Transformer& model,
                    const Degrees& degrees) {
  model::BlockOps rest = block;
  std::erase_if(rest.ops, is_core);
  OpList ops = model::forward_kernels(rest, context);
  const bool exchanges = std::any_of(ops.begin(), ops.end(), exchanges_tokens);
  if (!exchanges) return ops;
  if (degrees.attention_data == 1) return without_exchanges(std::move(ops), context.tokens(), real(model.hidden));
  // Each tensor rank brought its part of the tokens back.
  if (degrees.tensor > 1)
    ops.push_back(over_tensor_ranks("gather tokens of tensor ranks", CollectiveKind::kAllGather,
                                    2 * context.tokens() * real(model.hidden)));
  return ops;
}

OpList served_head(const model::Transformer& model, const model::LayerContext& context) {
  model::BlockOps block = model::head_block(model, context);
  const auto loss = std::find_if(block.ops.begin(), block.ops.end(),
                                 [](const model::Op& op) { return op.role == model::OpRole::kLoss; });
  block.ops.erase(loss, block.ops.end());
  OpList ops = model::forward_kernels(block, context);
  if (context.tensor > 1)
    ops.push_back(
        over_tensor_ranks("gather logits", CollectiveKind::kAllGather, 2 * context.tokens() * real(model.vocabulary)));
  return ops;
}

}  // namespace foretoken::serve
