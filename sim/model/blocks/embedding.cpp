// The embedding, on the first chunk.
//
// The vocabulary is padded to a multiple of 128 x t and split over tensor ranks. A rank looks up all T tokens in its
// part. The partial results are summed.
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/tuning/tune.h"

namespace foretoken::model {
void add_lookup(BlockOps& block, const Transformer& model, const Cut& cut, IdList<WeightId> table, TensorId ids,
                TensorId output) {
  const double elements = cut.tokens * real(model.embedding_width());
  // The backward kernel reads the gradient once and adds it to fp32 rows (a read and a write).
  block.add(Op{.name = "embedding lookup",
               .role = OpRole::kEmbedding,
               .work = MemoryBound{4 * elements, (2 + 8) * elements, "embedding gradient"},
               .weights = table,
               .reads = {ids},
               .writes = {output},
               .saves = {ids}});
  const bool cuts = cut.context.sequence_parallel;
  Exchange sum{.payload = cut.whole_bytes(real(model.embedding_width())),
               .forward = cuts ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
               .backward_name = "gather embedding gradient"};
  if (cuts) sum.backward = CollectiveKind::kAllGather;
  block.add(Op{.name = cuts ? "reduce-scatter embedding" : "all-reduce embedding",
               .role = OpRole::kComm,
               .work = sum,
               .reads = {output},
               .writes = {output}});
}

Weight token_table(const Transformer& model, const LayerContext& context, std::string_view name) {
  return {.name = name,
          .kind = WeightKind::kTable,
          .rows = model.vocabulary,
          .columns = model.embedding_width(),
          .split = Split::kRows,
          .padding_rows = padded_vocabulary(model, context.tensor, context.pads_vocabulary) - model.vocabulary};
}

namespace {

/// The ops that change embedded tokens in place, behind the lookup.
struct EmbeddedTokens {
  BlockOps& block;
  const Transformer& model;
  const Cut& cut;
  TensorId tokens;

  [[nodiscard]] double elements() const { return cut.region * real(model.embedding_width()); }

  Op& in_place(std::string_view name, MemoryBound work) const {
    return block.add(Op{.name = name, .role = OpRole::kEmbedding, .work = work, .reads = {tokens}, .writes = {tokens}});
  }

  Op& add_table(std::string_view name, std::string_view op, std::int64_t rows, MemoryBound work) const {
    const WeightId table = block.add(Weight{.name = name, .rows = rows, .columns = model.embedding_width()});
    Op& added = in_place(op, work);
    added.weights.add(table);
    return added;
  }
};

// Norm, and its kernels in models with an encoder. BLOOM's norm is left out of the times, as its published runs were
// fitted.
void add_embedding_norm(const EmbeddedTokens& at) {
  const double bytes = at.model.encoder || at.model.encoder_decoder ? at.elements() : 0;
  Op& norm = at.in_place("embedding norm", {4 * bytes, 8 * bytes, "embedding norm gradient"});
  norm.weights = add_norm_weight(at.block, at.model, "embedding norm", at.model.embedding_width());
  norm.saves.add(at.tokens);
}

void add_embedding_dropout(const EmbeddedTokens& at) {
  const double bytes = 5 * at.elements();
  const TensorId mask = at.block.add(Tensor{.name = "embedding dropout mask",
                                            .bytes = at.cut.residual_bytes(real(at.model.embedding_width())) / 2,
                                            .fixed = true});
  Op& dropout = at.in_place("embedding dropout", {bytes, bytes, "embedding dropout gradient"});
  dropout.writes.add(mask);
  dropout.saves.add(mask);
}

// ELECTRA's narrow tables: a product brings their rows to the hidden size.
void add_embedding_projection(const EmbeddedTokens& at) {
  const std::int64_t n = at.model.hidden, k = at.model.embedding_width();
  const TensorId output =
      at.block.add(Tensor{.name = "projected tokens", .bytes = at.cut.residual_bytes(real(at.model.hidden))});
  at.block.add(
      Op{.name = "embedding projection",
         .role = OpRole::kEmbedding,
         .work = whole_product(at.cut, {"embedding projection", "embedding projection input gradient",
                                        "embedding projection weight gradient", n, k, at.cut.wide_precision()}),
         .weights = add_whole_weight(at.block, "embedding projection", n, k),
         .reads = {at.tokens},
         .writes = {output},
         .saves = {at.tokens}});
}

// The numbers that one half adds to its scores: looked up once a micro-batch (2 bytes), sorted by head (4), and their
// gradients summed into the table.
void add_position_biases(const EmbeddedTokens& at, std::string_view name) {
  const LayerContext& context = at.cut.context;
  const double numbers = real(at.model.heads) / context.tensor * real(context.sequence) * real(context.sequence);
  Op& op = at.in_place("position biases", {6 * numbers, 6 * numbers, "position bias gradient"});
  op.weights.add(at.block.add(
      Weight{.name = name, .rows = at.model.encoder_decoder->position_buckets, .columns = at.model.heads}));
}

// A decoder behind an encoder looks its tokens up in the encoder's table. Its stage holds a copy unless the table
// stands there.
Weight table_of(const Transformer& model, const LayerContext& context, Half half) {
  Weight table = token_table(model, context, half == Half::kDecoder ? "token table of the decoder" : "token table");
  table.tied = half == Half::kDecoder;
  return table;
}

void add_positions(const EmbeddedTokens& at, Half half) {
  const auto& halves = at.model.encoder_decoder;
  const MemoryBound work{.forward_bytes = 6 * at.elements()};
  if (half == Half::kDecoder && !halves->decoder_positions)
    at.in_place("add positions", work);
  else
    at.add_table(half == Half::kDecoder ? "positions of the decoder" : "positions", "add positions",
                 at.model.max_positions, work);
}

}  // namespace

TensorId add_embedding(BlockOps& block, const Transformer& model, const Cut& cut, Half half, TensorId ids) {
  const TensorId output =
      block.add(Tensor{.name = "embedded tokens", .bytes = cut.residual_bytes(real(model.embedding_width()))});
  add_lookup(block, model, cut, {block.add(table_of(model, cut.context, half))}, ids, output);
  const EmbeddedTokens at{block, model, cut, output};
  const double elements = at.elements();
  if (model.scaled_embedding) at.in_place("scale embedding", {4 * elements, 4 * elements, "embedding scale gradient"});
  if (model.positions == Positions::kLearned) add_positions(at, half);
  if (model.encoder && model.encoder->token_types > 0)  // its gradient sums all tokens into few rows
    at.add_table("token types", "add token types", model.encoder->token_types,
                 {6 * elements, 2 * elements, "token type gradient"});
  if (model.embedding_norm) add_embedding_norm(at);
  if (model.hidden_dropout > 0) add_embedding_dropout(at);
  if (model.embedding_width() != model.hidden) add_embedding_projection(at);
  if (model.encoder_decoder && model.encoder_decoder->relative())
    add_position_biases(at, half == Half::kDecoder ? "relative positions of the decoder" : "relative positions");
  return output;
}

BlockOps embedding_block(const Transformer& model, const LayerContext& context) {
  const Cut cut(context);
  BlockOps block;
  block.input = block.add(Tensor{.name = "token ids", .bytes = 8 * cut.tokens, .fixed = true});
  (void)add_embedding(block, model, cut, model.encoder_decoder ? Half::kEncoder : Half::kNone, block.input);
  return tuned_embedding(std::move(block), model, context);
}

}  // namespace foretoken::model
