// Attention of a dense layer: a query heads and g heads of keys and values, of size d.
//
// Bytes saved per token (arXiv:2205.05198 section 4):
//   saved      q 2ad, k and v 4gd, output 2ad     cut over the tensor ranks
//   unfused    softmax 2as; with dropout its mask as and its output 2as; k and v repeated for all a heads
//   flash      log-sum-exp of the softmax, 4a
#include <algorithm>
#include <utility>

#include "sim/model/attention_ops.h"
#include "sim/model/blocks/parts.h"

namespace foretoken::model {
namespace {

constexpr SelectiveModules kCore{.core_attention = true};

// Relative positions stand in self-attention only (T5; transformers, modeling_t5.py, T5LayerCrossAttention).
AttentionCore core_of(const Transformer& model, const LayerKind& kind) {
  return {.heads = model.heads,
          .kv_heads = model.kv_heads,
          .head_dim = model.head_dim,
          .dropout = model.attention_dropout > 0,
          .window = kind.window,
          .causal = !model.encoder && kind.half != Half::kEncoder,
          .position_bias = model.encoder_decoder && model.encoder_decoder->relative()};
}

double output_bytes(const AttentionCore& core, const Cut& cut) {
  return 2 * cut.tokens * real(core.heads) * real(core.values_dim()) / cut.context.tensor;
}

double query_bytes(const AttentionCore& core, const Cut& cut) {
  return 2 * cut.tokens * real(core.heads) * real(core.head_dim) / cut.context.tensor;
}

// A tensor rank holds at least one key/value head. Unfused attention repeats them for every query head, and so does
// software that has no kernel of grouped queries.
double key_value_bytes(const AttentionCore& core, const Cut& cut) {
  const double tensor = cut.context.tensor;
  const bool repeats = cut.context.attention == AttentionKind::kUnfused || !cut.context.fusions.grouped_attention;
  const double heads = repeats ? real(core.heads) : std::max(real(core.kv_heads), tensor);
  return cut.tokens * real(core.head_dim + core.values_dim()) * (2 * heads) / tensor;
}

// Bytes of one a x s x s matrix of 16-bit scores, as wide as the keys. Ranks that share a sequence cut the queries, not
// the keys.
double score_bytes(const AttentionCore& core, const Cut& cut) {
  return 2 * cut.tokens * real(core.heads) * real(core.keys_of(cut.context.sequence)) / cut.context.tensor;
}

// Unfused, queries and keys are cast to fp32 (6 bytes an element), multiplied as complex numbers (8) and cast back (6).
double rotary_bytes(const Transformer& model, const Cut& cut) {
  if (model.positions != Positions::kRotary) return 0;
  const auto width = static_cast<double>((model.heads + model.kv_heads) * model.head_dim);
  return (cut.context.fusions.rotary ? 4 : 20) * cut.tokens * width / cut.context.tensor;
}

// Keys and values are read in 16 bit and written once for every query head. The backward pass sums them again.
double repeat_bytes(const Transformer& model, const Cut& cut) {
  const bool repeats = cut.context.attention == AttentionKind::kFlash && !cut.context.fusions.grouped_attention;
  if (!repeats || model.kv_heads == model.heads) return 0;
  return 4 * cut.tokens * real((model.heads + model.kv_heads) * model.head_dim) / cut.context.tensor;
}

// Norms of queries and keys. A weight has the size of one head, or of the heads of this model together, if there is
// one.
//
// The norm reads and writes 4 bytes an element forward, and 8 backward, like every norm. Its backward pass needs its
// inputs; the core saves its outputs. Every head has statistics of its own, four bytes a number, where Transformer
// Engine runs the norm.
void add_qk_norm(BlockOps& block, const Transformer& model, const Cut& cut, TensorId queries, TensorId keys) {
  if (model.qk_norm == QkNorm::kNone) return;
  const bool each_head = model.qk_norm != QkNorm::kAllHeads;
  const auto width = real((model.heads + model.kv_heads) * model.head_dim);
  const double elements = cut.tokens * width / cut.context.tensor;
  const double numbers = each_head ? elements / real(model.head_dim) : 2 * cut.tokens / cut.context.tensor;
  const bool keeps_statistics = cut.context.attention == AttentionKind::kFlash;
  const TensorId inputs = block.add(Tensor{.name = "queries and keys before their norm", .bytes = 2 * elements});
  const TensorId statistics = block.add(Tensor{.name = "statistics of the norms of queries and keys",
                                               .bytes = keeps_statistics ? 4 * numbers : 0,
                                               .fixed = true});
  const auto weight = [&](std::string_view name, std::int64_t heads) {
    const std::int64_t size = each_head ? model.head_dim : heads * model.head_dim;
    return block.add(bias_weight(name, size, each_head ? Split::kWhole : Split::kRows));
  };
  Op norm{.name = "norm of queries and keys",
          .role = OpRole::kNorm,
          .work = MemoryBound{4 * elements, 8 * elements, "gradient of the norm of queries and keys"},
          .reads = {queries, keys},
          .writes = {queries, keys, inputs, statistics},
          .saves = {inputs, statistics}};
  if (model.qk_norm != QkNorm::kPlainHead)
    norm.weights = {weight("query norm", model.heads), weight("key norm", model.kv_heads)};
  block.add(std::move(norm));
}

Operands add_operands(BlockOps& block, const Transformer& model, const Cut& cut, const AttentionCore& core,
                      TensorId input) {
  const CoreCut sizes(cut, core);
  const std::int64_t width = core.operand_width();
  // BERT and its like store queries, keys and values as three (transformers, modeling_bert.py, BertSelfAttention).
  const int stored_as = model.encoder ? 3 : 1;
  const Operands operands{block.add(Tensor{.name = "queries", .bytes = query_bytes(core, cut)}),
                          block.add(Tensor{.name = "keys and values",
                                           .bytes = key_value_bytes(core, cut),
                                           .dropped_by = {.core_attention = false, .by_op = true}})};
  Op product{.name = "qkv",
             .role = OpRole::kLinear,
             .work = Product{ProductKind::kColumn, "qkv input gradient", "qkv weight gradient",
                             real(core.kv_heads * core.head_dim) / real(width)},
             .weights = {block.add(Weight{.name = "qkv",
                                          .kind = WeightKind::kMatrix,
                                          .rows = width,
                                          .columns = model.hidden,
                                          .split = Split::kRows,
                                          .stored_as = stored_as})},
             .reads = {input},
             .writes = {operands.queries, operands.keys_and_values},
             .saves = {input}};
  if (model.qkv_bias) {
    Weight bias = bias_weight("qkv bias", width, Split::kRows);
    bias.stored_as = stored_as;
    product.weights.add(block.add(bias));
  }
  block.add(product);

  // From here on every op works on the operands in place. The product itself adds the bias.
  const double bytes = sizes.operand_bytes();
  const auto in_place = [&](std::string_view name, OpRole role, Work work) {
    block.add(Op{.name = name,
                 .role = role,
                 .work = std::move(work),
                 .reads = {operands.queries, operands.keys_and_values},
                 .writes = {operands.queries, operands.keys_and_values}});
  };
  in_place("qkv bias", OpRole::kElementwise, MemoryBound{0, model.qkv_bias ? bytes : 0, "qkv bias gradient"});
  if (core.kv_heads < cut.context.tensor)
    in_place("gather qkv", OpRole::kComm,
             Exchange{bytes * cut.context.tensor, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                      "scatter qkv gradient"});
  add_qk_norm(block, model, cut, operands.queries, operands.keys_and_values);
  const double rotary = rotary_bytes(model, cut);
  in_place("rotary embedding", OpRole::kElementwise, MemoryBound{rotary, rotary, "rotary gradient"});
  const double repeat = repeat_bytes(model, cut);
  if (repeat > 0)
    in_place("repeat keys and values", OpRole::kElementwise, MemoryBound{repeat, repeat, "sum of repeated gradients"});
  in_place("split qkv", OpRole::kAttention, MemoryBound{0, 2 * bytes, "qkv gradient concat"});
  return operands;
}

}  // namespace

TensorId add_core(BlockOps& block, const Transformer& model, const Cut& cut, const AttentionCore& core,
                  const Operands& operands) {
  const double scores = score_bytes(core, cut);
  const TensorId output = block.add(Tensor{.name = "attention output", .bytes = output_bytes(core, cut)});
  Op op{.name = "attention",
        .role = OpRole::kAttention,
        .work = core,
        .reads = {operands.queries, operands.keys_and_values},
        .writes = {output},
        .saves = {operands.queries, operands.keys_and_values, output},
        .repeated_by = kCore};
  if (model.attention_sinks) op.weights.add(block.add(bias_weight("attention sinks", core.heads, Split::kRows)));
  const auto keep = [&](std::string_view name, double bytes, SelectiveModules dropped_by, bool fixed = false) {
    const TensorId id = block.add(Tensor{.name = name, .bytes = bytes, .dropped_by = dropped_by, .fixed = fixed});
    op.writes.add(id);
    op.saves.add(id);
  };
  if (cut.context.attention == AttentionKind::kFlash) {
    keep("log-sum-exp of the softmax", 4 * cut.tokens * real(core.heads) / cut.context.tensor, kCore, true);
  } else {
    keep("softmax", scores, kCore);
    if (core.dropout) keep("attention dropout mask", scores / 2, kCore, true);
    if (core.dropout) keep("attention dropout output", scores, kCore);
    op.working_bytes = scores;  // one gradient of that size: the fused softmax works in place
  }
  // Ranks that trade tokens for heads keep the output in both orders.
  if (trades_tokens_for_heads(cut.context)) keep("attention output by heads", output_bytes(core, cut), kNoModule);
  block.add(op);
  return output;
}

TensorId add_projection(BlockOps& block, const Transformer& model, const Cut& cut, const AttentionCore& core,
                        TensorId attended) {
  TensorId read = attended;
  // Of the matrices of attention it is the fourth, or with narrow queries the fifth.
  const bool kept = model.latent && model.latent->query_rank > 0;
  const TensorId output = block.add(Tensor{.name = "projection output",
                                           .bytes = cut.residual_bytes(real(model.hidden)),
                                           .kept_by = {.core_attention = false, .by_op = kept}});
  Op op{.name = "projection",
        .role = OpRole::kLinear,
        .work = Product{model.parallel_residual ? ProductKind::kRowUnsummed : ProductKind::kRow,
                        "projection input gradient", "projection weight gradient", kept ? 0.0 : 1.0},
        .weights = {block.add(Weight{.name = "projection",
                                     .kind = WeightKind::kMatrix,
                                     .rows = model.hidden,
                                     .columns = core.output_width(),
                                     .split = Split::kColumns})},
        .reads = {read},
        .writes = {output}};
  if (cut.quantises()) {  // a quantised input is a tensor of its own
    const double elements = cut.tokens * real(core.heads) * real(core.values_dim()) / cut.context.tensor;
    read = block.add(Tensor{.name = "quantised projection input", .bytes = kHalf * elements * cut.input_share()});
    op.writes.add(read);
  }
  op.saves.add(read);
  if (model.biased_projection()) op.weights.add(block.add(bias_weight("projection bias", model.hidden, Split::kWhole)));
  block.add(op);
  return output;
}

TensorId add_attention(BlockOps& block, const Transformer& model, const Cut& cut, const LayerKind& kind,
                       TensorId input) {
  const AttentionCore core = core_of(model, kind);
  const Operands operands = add_operands(block, model, cut, core, input);
  return add_projection(block, model, cut, core, add_core(block, model, cut, core, operands));
}

}  // namespace foretoken::model
