// The embedding, on the first chunk.
//
// The vocabulary is padded to a multiple of 128 x t and split over tensor ranks. A rank looks up all T tokens in its
// part. The partial results are summed.
#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"

namespace foretoken::model {
void add_lookup(BlockOps& block, const Transformer& model, const Cut& cut, IdList<WeightId> table, TensorId ids,
                TensorId output) {
  const double elements = cut.tokens * real(model.hidden);
  // The backward kernel reads the gradient once and adds it to fp32 rows (a read and a write).
  block.add(Op{.name = "embedding lookup",
               .role = OpRole::kEmbedding,
               .work = MemoryBound{4 * elements, (2 + 8) * elements, "embedding gradient"},
               .weights = table,
               .reads = {ids},
               .writes = {output},
               .saves = {ids}});
  const bool cuts = cut.context.sequence_parallel;
  Exchange sum{.payload = cut.whole_bytes(real(model.hidden)),
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
          .columns = model.hidden,
          .split = Split::kRows,
          .padding_rows = padded_vocabulary(model, context.tensor, context.pads_vocabulary) - model.vocabulary};
}

BlockOps embedding_block(const Transformer& model, const LayerContext& context) {
  const Cut cut(context);
  const double hidden = real(model.hidden), residual = cut.residual_bytes(hidden);
  BlockOps block;
  block.input = block.add(Tensor{.name = "token ids", .bytes = 8 * cut.tokens});
  const TensorId output = block.add(Tensor{.name = "embedded tokens", .bytes = residual});
  add_lookup(block, model, cut, {block.add(token_table(model, context, "token table"))}, block.input, output);
  const auto in_place = [&](std::string_view name, MemoryBound work) -> Op& {
    return block.add(Op{.name = name, .role = OpRole::kEmbedding, .work = work, .reads = {output}, .writes = {output}});
  };
  if (model.scaled_embedding)
    in_place("scale embedding", {4 * cut.region * hidden, 4 * cut.region * hidden, "embedding scale gradient"});
  if (model.positions == Positions::kLearned)
    in_place("add positions", {.forward_bytes = 6 * cut.region * hidden})
        .weights.add(block.add(Weight{.name = "positions", .rows = model.max_positions, .columns = model.hidden}));
  if (model.embedding_norm) {
    Op& norm = in_place("embedding norm", {});
    norm.weights = add_norm_weight(block, model, "embedding norm");
    norm.saves.add(output);
  }
  if (model.hidden_dropout > 0) {
    const double bytes = 5 * cut.region * hidden;
    const TensorId mask = block.add(Tensor{.name = "embedding dropout mask", .bytes = residual / 2});
    Op& dropout = in_place("embedding dropout", {bytes, bytes, "embedding dropout gradient"});
    dropout.writes.add(mask);
    dropout.saves.add(mask);
  }
  return block;
}

}  // namespace foretoken::model
