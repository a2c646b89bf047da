// Lists the layers of a decoder: all dense, or the kinds that the model states.
#include "sim/model/stacks/decoder.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/model/blocks/blocks.h"

namespace foretoken::model {

std::vector<LayerRunOps> decoder_layers(const Transformer& model, const LayerContext& context) {
  std::vector<LayerRunOps> runs;
  if (!model.stack) {
    runs.push_back({dense_layer(model, context), model.layers});
    return runs;
  }
  for (const LayerRun& run : *model.stack) {
    runs.push_back({run.block.at(context), run.count});
    expects(!find_mistake(runs.back().ops), "the ops of a block read only what an op before them has written");
  }
  return runs;
}

DecoderOps decoder_ops(const Transformer& model, const LayerContext& context) {
  return {.layers = decoder_layers(model, context),
          .embedding = embedding_block(model, context),
          .head = head_block(model, context)};
}

std::vector<LayerCount> layers_between(const Transformer& model, std::int64_t first, std::int64_t count) {
  if (!model.stack) return {{.kind = 0, .count = static_cast<int>(count)}};
  std::vector<LayerCount> found;
  const std::int64_t end = first + count;
  std::int64_t begin = 0;
  int kind = 0;
  for (const LayerRun& run : *model.stack) {
    const std::int64_t inside = std::min(end, begin + run.count) - std::max(first, begin);
    if (inside > 0) found.push_back({.kind = kind, .count = static_cast<int>(inside)});
    begin += run.count;
    ++kind;
  }
  return found;
}

}  // namespace foretoken::model
