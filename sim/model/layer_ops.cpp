// Lists the kernels of a dense layer, of the embedding and of the head.
#include "sim/model/layer_ops.h"

#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"

namespace foretoken::model {

OpList layer_forward(const Transformer& model, const LayerContext& context) {
  return forward_kernels(dense_layer(model, context), context);
}

OpList layer_backward(const Transformer& model, const LayerContext& context) {
  return backward_kernels(dense_layer(model, context), context);
}

OpList attention_core_forward(const Transformer& model, const LayerContext& context) {
  return recomputed_kernels(dense_layer(model, context), context, RecomputeGranularity::kSelective, {});
}

OpList embedding_forward(const Transformer& model, const LayerContext& context) {
  return forward_kernels(embedding_block(model, context), context);
}

OpList embedding_backward(const Transformer& model, const LayerContext& context) {
  return backward_kernels(embedding_block(model, context), context);
}

OpList head_forward(const Transformer& model, const LayerContext& context) {
  return forward_kernels(head_block(model, context), context);
}

OpList head_backward(const Transformer& model, const LayerContext& context) {
  return backward_kernels(head_block(model, context), context);
}

}  // namespace foretoken::model
