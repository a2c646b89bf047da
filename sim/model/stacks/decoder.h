// A decoder as a stack: an embedding, runs of equal layers, a head.
#pragma once

#include <vector>

#include "sim/model/block.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

/// The layers of one kind with the ops of one of them.
struct LayerRunOps {
  BlockOps ops;
  std::int64_t count = 1;
};

/// Returns the kinds of layers of a model, in the order in which they first stand.
[[nodiscard]] std::vector<LayerRunOps> decoder_layers(const Transformer& model, const LayerContext& context);

/// All blocks of a model.
struct DecoderOps {
  std::vector<LayerRunOps> layers;
  BlockOps embedding, head;
};
[[nodiscard]] DecoderOps decoder_ops(const Transformer& model, const LayerContext& context);

/// Layers of one kind in a part of a stack.
struct LayerCount {
  int kind = 0;  ///< position in decoder_layers()
  int count = 0;
  friend auto operator<=>(const LayerCount&, const LayerCount&) = default;
};

/// Returns the kinds of `count` layers of a stack from layer `first` on, in forward order.
[[nodiscard]] std::vector<LayerCount> layers_between(const Transformer& model, std::int64_t first, std::int64_t count);

}  // namespace foretoken::model
