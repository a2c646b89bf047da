// Multi-head latent attention (arXiv:2405.04434 section 2.1), as Megatron-Core runs it (Megatron-LM@d98e8a6,
// megatron/core/transformer/multi_latent_attention.py).
//
//   queries          h -> r_q, norm, r_q -> a (d_n + d_r); or h -> a (d_n + d_r) at once
//   keys, values     h -> r_kv + d_r, norm of r_kv, r_kv -> a (d_n + d_v)
//   core             heads of d_n + d_r for scores and of d_v for values
//   projection       a d_v -> h
//
// The products down are whole on every tensor rank, and work on its own tokens. The products up are split over heads.
// Under sequence parallelism they gather the narrow vectors, and the part of the keys with positions is gathered, too.
#include <utility>

#include "sim/base/check.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/quantisation.h"

namespace foretoken::model {
namespace {

constexpr SelectiveModules kUpProducts{.core_attention = false, .latent_up = true};
constexpr SelectiveModules kByOp{.core_attention = false, .by_op = true};

/// The matrices that recomputation by op repeats: every second one. With narrow queries these are both products up,
/// without them the product down to keys and values.
enum class Repeats : std::uint8_t { kUp, kDown };

Repeats repeats_of(const Transformer& model) { return model.latent->query_rank > 0 ? Repeats::kUp : Repeats::kDown; }

SelectiveModules dropped_up(Repeats repeats) {
  SelectiveModules dropped = kUpProducts;
  dropped.by_op = repeats == Repeats::kUp;
  return dropped;
}

AttentionCore latent_core(const Transformer& model) {
  return {.heads = model.heads,
          .kv_heads = model.heads,
          .head_dim = model.latent->query_dim(),
          .dropout = model.attention_dropout > 0,
          .value_dim = model.latent->value_dim};
}

/// Names of a product down to a narrow vector, and of its norm.
struct NarrowNames {
  std::string_view product, input_gradient, weight_gradient, vector, norm, norm_gradient, normed;
};
constexpr NarrowNames kNarrowQuery{
    "query down",           "query down input gradient", "query down weight gradient",
    "narrow queries",       "norm of narrow queries",    "gradient of the norm of narrow queries",
    "normed narrow queries"};
constexpr NarrowNames kNarrowKeyValue{"key-value down",
                                      "key-value down input gradient",
                                      "key-value down weight gradient",
                                      "narrow keys and values",
                                      "norm of narrow keys and values",
                                      "gradient of the norm of narrow keys and values",
                                      "normed narrow keys and values"};

/// The narrow vector as the product wrote it, and normed.
struct Narrow {
  TensorId vector, normed;
};

// Adds the product down to `rank` + `beside` numbers a token, and the norm of the first `rank`.
Narrow add_narrow(BlockOps& block, const Transformer& model, const Cut& cut, const NarrowNames& names,
                  std::int64_t rank, std::int64_t beside, TensorId input) {
  const std::int64_t width = rank + beside;
  const bool kept = repeats_of(model) == Repeats::kUp;
  const Narrow narrow{
      block.add(Tensor{
          .name = names.vector, .bytes = cut.residual_bytes(real(width)), .dropped_by = kept ? kNoModule : kByOp}),
      block.add(Tensor{
          .name = names.normed, .bytes = cut.residual_bytes(real(rank)) * cut.input_share(), .dropped_by = kByOp})};
  Op product{.name = names.product,
             .role = OpRole::kLinear,
             .work = whole_product(cut, {.forward = names.product,
                                         .input_gradient = names.input_gradient,
                                         .weight_gradient = names.weight_gradient,
                                         .n = width,
                                         .k = model.hidden,
                                         .precision = cut.product_precision()}),
             .weights = {block.add(
                 Weight{.name = names.product, .kind = WeightKind::kMatrix, .rows = width, .columns = model.hidden})},
             .reads = {input},
             .writes = {narrow.vector},
             .saves = {input},
             .kept_by_op = kept};
  if (model.qkv_bias) product.weights.add(block.add(bias_weight(names.product, width, Split::kWhole)));
  block.add(std::move(product));
  const double elements = cut.region * real(rank);
  block.add(Op{.name = names.norm,
               .role = OpRole::kNorm,
               .work = MemoryBound{4 * elements, 8 * elements, names.norm_gradient},
               .weights = {block.add(bias_weight(names.norm, rank, Split::kWhole))},
               .reads = {narrow.vector},
               .writes = {narrow.normed},
               .saves = {narrow.vector}});
  block.add(Op{.name = "quantise",
               .work = MemoryBound{.forward_bytes = quantise_norm_bytes(cut) * elements},
               .reads = {narrow.normed},
               .writes = {narrow.normed}});
  return narrow;
}

/// Names of a product up to all heads.
struct WideNames {
  std::string_view product, input_gradient, weight_gradient;
};

void add_wide(BlockOps& block, const WideNames& names, Repeats repeats, std::int64_t outputs, std::int64_t inputs,
              TensorId input, TensorId output) {
  block.add(Op{.name = names.product,
               .role = OpRole::kLinear,
               .work = Product{ProductKind::kColumn, names.input_gradient, names.weight_gradient,
                               repeats == Repeats::kUp ? 1.0 : 0.0},
               .weights = {block.add(Weight{.name = names.product,
                                            .kind = WeightKind::kMatrix,
                                            .rows = outputs,
                                            .columns = inputs,
                                            .split = Split::kRows})},
               .reads = {input},
               .writes = {output},
               .saves = {input},
               .repeated_by = kUpProducts});
}

void add_queries(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input, TensorId queries) {
  const LatentAttention& latent = *model.latent;
  const std::int64_t outputs = model.heads * latent.query_dim();
  if (latent.query_rank == 0) {
    add_wide(block, {"queries", "queries input gradient", "queries weight gradient"}, Repeats::kDown, outputs,
             model.hidden, input, queries);
    return;
  }
  const Narrow narrow = add_narrow(block, model, cut, kNarrowQuery, latent.query_rank, 0, input);
  add_wide(block, {"query up", "query up input gradient", "query up weight gradient"}, Repeats::kUp, outputs,
           latent.query_rank, narrow.normed, queries);
}

void add_keys_and_values(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input, TensorId output) {
  const LatentAttention& latent = *model.latent;
  const Narrow narrow = add_narrow(block, model, cut, kNarrowKeyValue, latent.kv_rank, latent.rope_dim, input);
  if (cut.context.sequence_parallel && latent.rope_dim > 0)
    block.add(Op{.name = "gather rotary keys",
                 .role = OpRole::kComm,
                 .work = Exchange{cut.whole_bytes(real(latent.rope_dim)), CollectiveKind::kAllGather,
                                  CollectiveKind::kReduceScatter, "scatter rotary key gradient"},
                 .reads = {narrow.vector},
                 .writes = {narrow.vector}});
  add_wide(block, {"key-value up", "key-value up input gradient", "key-value up weight gradient"}, repeats_of(model),
           model.heads * (latent.nope_dim + latent.value_dim), latent.kv_rank, narrow.normed, output);
}

// Positions turn their part of every query, and the one part of the keys. Then every head gets a copy of this part.
void add_positions(BlockOps& block, const Transformer& model, const Cut& cut, const Operands& operands) {
  const LatentAttention& latent = *model.latent;
  const double heads = real(model.heads) / cut.context.tensor;
  const double rotary = 4 * cut.tokens * (heads + 1) * real(latent.rope_dim);
  const double keys = 4 * cut.tokens * heads * real(latent.query_dim());
  const auto in_place = [&](std::string_view name, MemoryBound work) {
    block.add(Op{.name = name,
                 .work = work,
                 .reads = {operands.queries, operands.keys_and_values},
                 .writes = {operands.queries, operands.keys_and_values},
                 .repeated_by = kUpProducts});
  };
  in_place("rotary embedding", {rotary, rotary, "rotary gradient"});
  in_place("join parts of keys", {keys, keys, "split key gradient"});
}

}  // namespace

TensorId add_latent_attention(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  expects(model.latent.has_value(), "the model has latent attention");
  const AttentionCore core = latent_core(model);
  const double tokens = kHalf * cut.tokens / cut.context.tensor;
  const SelectiveModules dropped = dropped_up(repeats_of(model));
  const Operands operands{
      block.add(Tensor{.name = "queries", .bytes = tokens * real(core.heads * core.head_dim), .dropped_by = dropped}),
      block.add(Tensor{.name = "keys and values",
                       .bytes = tokens * real(core.heads * (core.head_dim + core.value_dim)),
                       .dropped_by = dropped})};
  add_queries(block, model, cut, input, operands.queries);
  add_keys_and_values(block, model, cut, input, operands.keys_and_values);
  add_positions(block, model, cut, operands);
  return add_projection(block, model, cut, core, add_core(block, model, cut, core, operands));
}

}  // namespace foretoken::model
