// The layers of an encoder-decoder, and the parts at the seam between both halves.
//
// An encoder's layer is a dense layer whose queries see all tokens. A decoder's layer has cross-attention between
// attention and MLP: three norms, three residual connections (arXiv:1910.10683 section 2.1). Each half has its own
// length of sequence.
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/blocks/parts.h"
#include "sim/model/tuning/tune.h"

namespace foretoken::model {
namespace {

// The encoder's norm writes 16 bit, whatever the products read: every layer of the decoder quantises its own copy.
TensorId add_end_norm(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream) {
  const double hidden = real(model.hidden);
  const TensorId normed =
      block.add(Tensor{.name = "output of the norm of the half", .bytes = cut.residual_bytes(hidden)});
  block.add(Op{.name = "norm of the half",
               .role = OpRole::kNorm,
               .work = MemoryBound{4 * cut.region * hidden, 8 * cut.region * hidden, "norm of the half gradient"},
               .weights = add_norm_weight(block, model, "norm of the half"),
               .reads = {stream},
               .writes = {normed},
               .saves = {stream}});
  return normed;
}

}  // namespace

TensorId add_end_of_half(BlockOps& block, const Transformer& model, const Cut& cut, TensorId stream) {
  if (!model.encoder_decoder->final_norms) return stream;
  const TensorId normed = add_end_norm(block, model, cut, stream);
  if (model.hidden_dropout == 0 || !model.encoder_decoder->relative()) return normed;  // only T5 has this dropout
  const double bytes = 5 * cut.region * real(model.hidden);
  const TensorId mask = block.add(
      Tensor{.name = "dropout mask of the half", .bytes = cut.residual_bytes(real(model.hidden)) / 2, .fixed = true});
  block.add(Op{.name = "dropout of the half",
               .work = MemoryBound{bytes, bytes, "dropout of the half gradient"},
               .reads = {normed},
               .writes = {normed, mask},
               .saves = {mask}});
  return normed;
}

BlockOps half_layer(const Transformer& model, const LayerContext& context, const LayerKind& kind) {
  const bool decodes = kind.half == Half::kDecoder;
  const LayerContext own = decodes ? context.other_half() : context;
  const Cut cut(own);
  const double residual = cut.residual_bytes(real(model.hidden));
  BlockOps block;
  block.sequence = own.sequence;
  block.gradient_bytes = residual * (model.hidden_dropout > 0 ? 2 : 1);
  TensorId stream;
  if (decodes && kind.at_seam) {
    block.input = block.add(Tensor{.name = "token ids of the decoder", .bytes = 8 * cut.tokens, .fixed = true});
    stream = add_embedding(block, model, cut, Half::kDecoder, block.input);
  } else {
    block.input = stream = block.add(Tensor{.name = "layer input", .bytes = cut.stream_bytes(real(model.hidden))});
  }
  stream = add_layer(block, model, cut, kind, stream);
  if (!decodes && kind.at_seam) (void)add_end_of_half(block, model, cut, stream);
  return tuned_layer(std::move(block), model, own);
}

}  // namespace foretoken::model
