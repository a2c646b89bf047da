// The heads of an encoder, behind its last layer.
//
// The masked head reads only the tokens that were masked: a kernel gathers their rows, and its gradient scatters them
// back into zeros. Then come product, activation, norm and the vocabulary (transformers, modeling_bert.py,
// BertLMPredictionHead; the gather is NVIDIA's, DeepLearningExamples PyTorch/LanguageModeling/BERT, modeling.py). The
// pooler reads the first token of each sequence. Weights of these products are whole on every tensor rank.
#include "sim/model/blocks/parts.h"

namespace foretoken::model {
namespace {

/// The rows that a head reads: a part of the tokens.
struct HeadRows {
  BlockOps& block;
  const Transformer& model;
  const Cut& whole;
  double share;
  Cut cut = whole.of_share(share);

  [[nodiscard]] double bytes(std::int64_t width) const { return cut.residual_bytes(real(width)); }
  [[nodiscard]] double elements(std::int64_t width) const { return cut.region * real(width); }

  TensorId add_tensor(std::string_view name, std::int64_t width) const {
    return block.add(Tensor{.name = name, .bytes = bytes(width)});
  }
};

// The gradient of all tokens is cleared (2 bytes an element) before the rows are written into it.
TensorId add_gather(const HeadRows& rows, TensorId stream) {
  if (rows.share >= 1) return stream;
  const std::int64_t hidden = rows.model.hidden;
  const double moved = 4 * rows.elements(hidden), cleared = 2 * rows.whole.region * real(hidden);
  const TensorId gathered = rows.add_tensor("rows of the head", hidden);
  rows.block.add(Op{.name = "gather rows of the head",
                    .role = OpRole::kHead,
                    .work = MemoryBound{moved, moved + cleared, "scatter gradient of the head"},
                    .reads = {stream},
                    .writes = {gathered}});
  return gathered;
}

TensorId add_product(const HeadRows& rows, const WholeProduct& product, TensorId input) {
  const TensorId output = rows.add_tensor(product.forward, product.n);
  OwnKernels work = whole_product(rows.cut, product);
  work.forward_flop_per_token *= rows.share;
  rows.block.add(Op{.name = product.forward,
                    .role = OpRole::kHead,
                    .work = std::move(work),
                    .weights = add_whole_weight(rows.block, product.forward, product.n, product.k),
                    .reads = {input},
                    .writes = {output},
                    .saves = {input}});
  return output;
}

// An activation reads and writes 2 bytes an element, and its gradient reads two tensors. The gradient of the product's
// bias reads the gradient once more.
TensorId add_activation(const HeadRows& rows, std::string_view name, std::string_view gradient, std::int64_t width,
                        TensorId input) {
  const TensorId output = rows.add_tensor(name, width);
  rows.block.add(Op{.name = name,
                    .role = OpRole::kHead,
                    .work = MemoryBound{4 * rows.elements(width), 8 * rows.elements(width), gradient},
                    .reads = {input},
                    .writes = {output},
                    .saves = {input}});
  return output;
}

TensorId add_head_norm(const HeadRows& rows, std::int64_t width, TensorId input) {
  const TensorId output = rows.add_tensor("normed rows of the head", width);
  rows.block.add(Op{.name = "head norm",
                    .role = OpRole::kHead,
                    .work = MemoryBound{4 * rows.elements(width), 8 * rows.elements(width), "head norm gradient"},
                    .weights = add_norm_weight(rows.block, rows.model, "head norm", width),
                    .reads = {input},
                    .writes = {output},
                    .saves = {input}});
  return output;
}

void add_classes(const HeadRows& rows, std::int64_t classes, TensorId input) {
  const Precision precision = rows.cut.wide_precision();
  const TensorId logits = add_product(
      rows, {"class logits", "class input gradient", "class weight gradient", classes, rows.model.hidden, precision},
      input);
  const double numbers = rows.elements(classes);
  rows.block.add(Op{.name = "class loss",
                    .role = OpRole::kLoss,
                    .work = MemoryBound{24 * numbers, 10 * numbers, "class loss gradient"},
                    .reads = {logits},
                    .writes = {logits},
                    .saves = {logits}});
}

TensorId add_transform(const HeadRows& rows, std::int64_t width, TensorId input) {
  const WholeProduct product{
      "head transform",  "head transform input gradient", "head transform weight gradient", width,
      rows.model.hidden, rows.cut.wide_precision()};
  return add_activation(rows, "head activation", "head activation gradient", width, add_product(rows, product, input));
}

void add_masked_head(BlockOps& block, const Transformer& model, const Cut& cut, const Weight& table, TensorId stream) {
  const HeadRows rows{block, model, cut, model.encoder->predicted_share};
  const std::int64_t width = model.embedding_width();
  const TensorId transformed = add_transform(rows, width, add_gather(rows, stream));
  add_output(block, model, cut, table, add_head_norm(rows, width, transformed), rows.share);
}

void add_pooled_classes(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream) {
  const HeadRows rows{block, model, cut, 1 / real(cut.context.sequence)};
  const WholeProduct product{"pooler",     "pooler input gradient", "pooler weight gradient", model.hidden,
                             model.hidden, cut.wide_precision()};
  const TensorId pooled = add_activation(rows, "pooler activation", "pooler activation gradient", model.hidden,
                                         add_product(rows, product, add_gather(rows, stream)));
  if (model.encoder->sequence_classes > 0) add_classes(rows, model.encoder->sequence_classes, pooled);
}

}  // namespace

void add_encoder_heads(BlockOps& block, const Transformer& model, const Cut& cut, const Weight& table,
                       TensorId stream) {
  const Encoder& encoder = *model.encoder;
  if (encoder.masked_head) add_masked_head(block, model, cut, table, stream);
  if (encoder.pooler) add_pooled_classes(block, model, cut, stream);
  if (encoder.token_classes == 0) return;
  const HeadRows rows{block, model, cut, 1};
  add_classes(rows, encoder.token_classes,
              encoder.token_transform ? add_transform(rows, model.hidden, stream) : stream);
}

}  // namespace foretoken::model
