// Lists the layers of a decoder: all dense, or the kinds that the model states.
#include "sim/model/stacks/decoder.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/tuning/tune.h"

namespace foretoken::model {

std::vector<LayerRunOps> decoder_layers(const Transformer& model, const LayerContext& context) {
  std::vector<LayerRunOps> runs;
  if (model.uniform()) {
    runs.push_back({dense_layer(model, context), model.layers});
    return runs;
  }
  if (!model.stack) {
    const StackPlan plan = plan_of(model);
    for (int kind = 0; kind < static_cast<int>(plan.kinds.size()); ++kind)
      runs.push_back({decoder_layer(model, context, plan.kinds[static_cast<std::size_t>(kind)]), plan.count_of(kind)});
    return runs;
  }
  for (const LayerRun& run : *model.stack) {
    runs.push_back({tuned_layer(run.block.at(context), model, context), run.count});
    expects(!find_mistake(runs.back().ops), "the ops of a block read only what an op before them has written");
  }
  return runs;
}

DecoderOps decoder_ops(const Transformer& model, const LayerContext& context) {
  return {.layers = decoder_layers(model, context),
          .embedding = embedding_block(model, context),
          .head = head_block(model, context)};
}

namespace {

// The layers of a model as runs of one kind. A stack that the model states has a kind for each of its runs.
std::vector<KindRun> runs_of(const Transformer& model) {
  if (!model.stack) return plan_of(model).runs;
  std::vector<KindRun> runs;
  for (const LayerRun& run : *model.stack) runs.push_back({static_cast<int>(runs.size()), run.count});
  return runs;
}

}  // namespace

std::vector<LayerCount> layers_between(const Transformer& model, std::int64_t first, std::int64_t count) {
  if (count == 0) return {};
  if (model.one_kind()) return {{.kind = 0, .count = static_cast<int>(count)}};
  std::vector<LayerCount> found;
  const std::int64_t end = first + count;
  std::int64_t begin = 0;
  for (const KindRun& run : runs_of(model)) {
    const std::int64_t inside = std::min(end, begin + run.count) - std::max(first, begin);
    if (inside > 0) found.push_back({.kind = run.kind, .count = static_cast<int>(inside)});
    begin += run.count;
  }
  return found;
}

}  // namespace foretoken::model
