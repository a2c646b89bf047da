// Computes times of passes of an encoder-decoder.
//
// The first pass runs the encoder over the prompts, and each layer of the decoder makes keys and values of its output
// once. Then, and in every further pass, the decoder takes one token a sequence. It attends to the tokens before it and
// to the encoder's output, both from caches.
#include <algorithm>

#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"
#include "sim/serve/passes.h"
#include "sim/serve/served_ops.h"

namespace foretoken::serve {
namespace {

bool is_of_encoder_output(const model::LayerOp& op) { return op.name == "cross key-value"; }

}  // namespace

Seconds PassTimes::encoder(const PromptChunk& prompts) const {
  const std::int64_t tokens = prompts.sequences * prompts.tokens;
  model::LayerContext context = job_.layer_context();
  context.sequence = tokens;
  context.other_sequence = 1;
  const model::StackPlan plan = model::plan_of(job_.model);
  const std::vector<model::LayerRunOps> layers = model::decoder_layers(job_.model, context);
  Seconds sum = ops_time(model::forward_kernels(model::embedding_block(job_.model, context), context), 0);
  for (std::size_t kind = 0; kind < layers.size(); ++kind) {
    model::OpList ops = served_layer(layers[kind].ops, context, job_.model, degrees_);
    Seconds layer;
    if (plan.kinds[kind].half == model::Half::kEncoder)
      layer = unfused_kernels(real(tokens)) + prompt(cores_[kind], prompts, prompts.sequences);
    else
      std::erase_if(ops, [](const model::LayerOp& op) { return !is_of_encoder_output(op); });
    sum += real(layers[kind].count) * (layer + ops_time(ops, 0));
  }
  return sum;
}

Seconds PassTimes::decoder_layers(std::int64_t sequences) {
  const auto [place, added] = decoder_.try_emplace(sequences);
  if (!added) return place->second;
  model::LayerContext context = job_.layer_context();
  context.sequence = context.other_sequence = sequences;
  const model::StackPlan plan = model::plan_of(job_.model);
  const std::vector<model::LayerRunOps> layers = model::decoder_layers(job_.model, context);
  for (std::size_t kind = 0; kind < layers.size(); ++kind) {
    if (plan.kinds[kind].half != model::Half::kDecoder) continue;
    model::OpList ops = served_layer(layers[kind].ops, context, job_.model, degrees_);
    std::erase_if(ops, is_of_encoder_output);
    place->second += real(layers[kind].count) * (ops_time(ops, 0) + unfused_kernels(real(sequences)));
  }
  return place->second;
}

// The first token of an answer follows a start token.
Seconds PassTimes::halves(const PassShape& pass) {
  const std::int64_t sequences = pass.sequences();
  const bool first = !pass.prompts.empty();
  const double cached = first ? 1 : pass.cached / real(sequences);
  const double encoded = first ? real(pass.prompts.front().tokens) : pass.encoded / real(sequences);
  const Core& core = cores_.back();  // heads of self-attention and of cross-attention are alike
  const Seconds attention =
      cached_attention(core, sequences, 1, cached) + cached_attention(core, sequences, 1, encoded);
  Seconds sum = decoder_layers(sequences) + real(cached_layers(service_.model)) * attention + head(sequences);
  if (first) sum += encoder(pass.prompts.front());
  return with_host(sum, Seconds(0), sequences);
}

}  // namespace foretoken::serve
