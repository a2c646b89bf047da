// Sorts the layers of a model by kind.
#include "sim/model/stacks/kinds.h"

#include <algorithm>

namespace foretoken::model {

namespace {

// Some dense layers, then layers with experts. A search asks for them too often to look at each layer.
StackPlan dense_first(const Experts& experts, std::int64_t layers) {
  return {.kinds = {{.experts = false}, {.experts = true}},
          .runs = {{0, experts.dense_first}, {1, layers - experts.dense_first}}};
}

// The layers at the seam have more ops than the others: the encoder's last norm, the decoder's embedding.
StackPlan two_halves(const EncoderDecoder& halves, std::int64_t layers) {
  StackPlan plan;
  const auto add = [&](LayerKind kind, std::int64_t count) {
    if (count == 0) return;
    plan.runs.push_back({static_cast<int>(plan.kinds.size()), count});
    plan.kinds.push_back(kind);
  };
  add({.half = Half::kEncoder}, halves.encoder_layers - 1);
  add({.half = Half::kEncoder, .at_seam = true}, 1);
  add({.half = Half::kDecoder, .at_seam = true}, 1);
  add({.half = Half::kDecoder}, layers - halves.encoder_layers - 1);
  return plan;
}

}  // namespace

std::int64_t StackPlan::count_of(int kind) const {
  std::int64_t count = 0;
  for (const KindRun& run : runs) count += run.kind == kind ? run.count : 0;
  return count;
}

StackPlan plan_of(const Transformer& model) {
  if (model.one_kind()) return {.kinds = {{.experts = model.experts.has_value()}}, .runs = {{0, model.layers}}};
  if (model.encoder_decoder) return two_halves(*model.encoder_decoder, model.layers);
  if (model.local.window == 0 && model.experts->every == 1 && model.experts->dense_first < model.layers)
    return dense_first(*model.experts, model.layers);
  StackPlan plan;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind{.experts = model.experts && model.experts->in_layer(layer),
                         .window = model.local.window_of(layer)};
    const auto at = std::find(plan.kinds.begin(), plan.kinds.end(), kind);
    const int number = static_cast<int>(at - plan.kinds.begin());
    if (at == plan.kinds.end()) plan.kinds.push_back(kind);
    if (!plan.runs.empty() && plan.runs.back().kind == number)
      ++plan.runs.back().count;
    else
      plan.runs.push_back({number, 1});
  }
  return plan;
}

}  // namespace foretoken::model
