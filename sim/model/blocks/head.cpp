// Final norm, output projection and loss, on the last chunk.
//
// The loss is Megatron's vocabulary-parallel cross entropy. Unfused it moves 24 bytes a logit forward and 10 backward;
// fused, 10 and 6. These are reads and writes of logits of 2 and 4 bytes (docs/modeller/layer.md).
#include <algorithm>
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/products.h"
#include "sim/model/tuning/tune.h"

namespace foretoken::model {
namespace {

/// Sizes of the logits and of the projection's weights on one rank.
struct HeadSizes {
  double logits, weights;  // elements

  HeadSizes(const Cut& cut, const Weight& table)
      : logits(cut.tokens * static_cast<double>(local_rows(table, cut.context))),
        weights(static_cast<double>(local_rows(table, cut.context)) * real(table.columns)) {}
};

bool keeps_logits_in_16_bit(const Fusions& fusions) { return fusions.cross_entropy && !fusions.compiled_cross_entropy; }

// In the head's backward pass the softmax is already cast to the 16-bit gradient of the logits. Megatron-LM makes a
// 16-bit gradient of the weights before it is added to the main gradient (a placeholder when fused).
double projection_working_bytes(const Cut& cut, const HeadSizes& sizes, double hidden) {
  const double gathered = cut.context.sequence_parallel ? cut.whole_bytes(hidden) + cut.residual_bytes(hidden) : 0;
  const double backward = 2 * sizes.weights + cut.whole_bytes(hidden) + gathered;
  return backward - (keeps_logits_in_16_bit(cut.context.fusions) ? 0 : 2 * sizes.logits);
}

// The compiled softmax divides out of place: 16-bit logits and their fp32 copy are alive beside the result. The unfused
// one has the 16-bit logits beside their fp32 copy.
double loss_working_bytes(const Fusions& fusions, const HeadSizes& sizes, double stored) {
  if (fusions.logit_bytes > 0) return std::max(0.0, fusions.logit_bytes * sizes.logits - stored);
  if (fusions.compiled_cross_entropy) return 3 * (2 * sizes.logits);
  return fusions.cross_entropy ? 0 : 2 * sizes.logits;
}

/// Bytes that the loss moves for a logit, as of 16-bit elements.
struct LossTraffic {
  double forward, backward;
};

// Logits of 32 bits need no copy (6 bytes), and their gradient none (2).
LossTraffic loss_traffic(const LayerContext& context) {
  if (is_wide(context.precision)) return {(24 - 6) / 2.0, (10 - 2) / 2.0};
  return context.fusions.cross_entropy ? LossTraffic{10, 6} : LossTraffic{24, 10};
}

void add_loss(BlockOps& block, const Cut& cut, const HeadSizes& sizes, TensorId logits) {
  const Fusions& fusions = cut.context.fusions;
  double stored = 2 * sizes.logits * (keeps_logits_in_16_bit(fusions) ? 1 : 2);
  if (fusions.logit_bytes > 0) stored = std::min(stored, fusions.logit_bytes * sizes.logits);
  const TensorId softmax =
      block.add(Tensor{.name = "fp32 softmax, or gradient of the logits", .bytes = stored, .fixed = true});
  const LossTraffic traffic = loss_traffic(cut.context);
  block.add(
      Op{.name = "cross entropy",
         .role = OpRole::kLoss,
         .work = MemoryBound{traffic.forward * sizes.logits, traffic.backward * sizes.logits, "cross entropy gradient"},
         .reads = {logits},
         .writes = {softmax},
         .saves = {softmax},
         .working_bytes = loss_working_bytes(fusions, sizes, stored)});
  const auto reduce = [&](std::string_view name) {
    block.add(Op{.name = name,
                 .role = OpRole::kComm,
                 .work = Exchange{.payload = 4 * cut.tokens, .forward = CollectiveKind::kAllReduce},
                 .reads = {softmax},
                 .writes = {softmax}});
  };
  reduce("loss maximum");
  reduce("loss sums");
  if (!fusions.cross_entropy) reduce("loss logits");
}

TensorId add_final_norm(BlockOps& block, const Transformer& model, const Cut& cut, TensorId input) {
  const double hidden = real(model.hidden);
  const TensorId normed = block.add(Tensor{.name = "final norm output", .bytes = cut.residual_bytes(hidden)});
  block.add(Op{.name = "final norm",
               .role = OpRole::kHead,
               .work = MemoryBound{4 * cut.region * hidden, 8 * cut.region * hidden, "final norm gradient"},
               .weights = add_norm_weight(block, model, "final norm"),
               .reads = {input},
               .writes = {normed},
               .saves = {input}});
  return normed;
}

}  // namespace

void add_output(BlockOps& block, const Transformer& model, const Cut& whole, const Weight& table, TensorId normed,
                double share) {
  const Cut cut = whole.of_share(share);
  const HeadSizes sizes(cut, table);
  const TensorId logits = block.add(Tensor{.name = "logits", .bytes = 2 * sizes.logits});
  block.add(Op{.name = "head",
               .role = OpRole::kHead,
               .work = Product{ProductKind::kVocabulary, "head input gradient", "head weight gradient", 0, share},
               .weights = {block.add(table)},
               .reads = {normed},
               .writes = {logits},
               .saves = {normed},
               .working_bytes = projection_working_bytes(cut, sizes, real(table.columns))});
  if (model.head_bias)  // the product itself adds the bias; its gradient sums the gradient of the logits
    block.add(Op{.name = "head bias",
                 .role = OpRole::kHead,
                 .work = MemoryBound{0, 2 * sizes.logits, "head bias gradient"},
                 .weights = {block.add(bias_weight("head bias", model.vocabulary, Split::kRows))},
                 .reads = {logits},
                 .writes = {logits}});
  add_loss(block, cut, sizes, logits);
}

// The head of an encoder-decoder reads the decoder's tokens.
BlockOps head_block(const Transformer& model, const LayerContext& context) {
  const LayerContext own = model.encoder_decoder ? context.other_half() : context;
  const Cut cut(own);
  Weight table = token_table(model, context, "head");
  table.tied = model.tied_embeddings;
  BlockOps block;
  if (model.encoder_decoder) block.sequence = own.sequence;
  block.input = block.add(Tensor{.name = "output of the last layer", .bytes = cut.residual_bytes(real(model.hidden))});
  if (model.encoder) {
    add_encoder_heads(block, model, cut, table, block.input);
    return tuned_head(std::move(block), model, context);
  }
  if (model.encoder_decoder) {
    add_output(block, model, cut, table, add_end_of_half(block, model, cut, block.input));
    return tuned_head(std::move(block), model, own);
  }
  add_output(block, model, cut, table, add_final_norm(block, model, cut, block.input));
  // Each further prediction reads the output of the one before, and has the same projection.
  table.kind = WeightKind::kMatrix;
  table.tied = true;
  TensorId stream = block.input;
  for (std::int64_t layer = 0; layer < model.prediction_layers; ++layer) {
    stream = add_prediction_layer(block, model, cut, stream);
    add_output(block, model, cut, table, add_final_norm(block, model, cut, stream));
  }
  return tuned_head(std::move(block), model, context);
}

}  // namespace foretoken::model
