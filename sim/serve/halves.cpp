// Computes times of passes of an encoder-decoder.
//
// The first pass runs the encoder over the prompts, and each layer of the decoder makes keys and values of its output
// once. Then, and in every further pass, the decoder takes one token a sequence. It attends to the tokens before it and
// to the encoder's output, both from caches.
//
// A beam search has several rows for each request, as FasterTransformer df4a753 runs it (models/t5/T5Decoding.cc). The
// encoder runs once a prompt. Its output is copied for each row (invokeTileEncoderResults), so the decoder makes keys
// and values for each row, and each row reads its own. The cache of the answer stays in place: indices tell whose keys
// and values a row reads. Rows whose answer has ended go on in all products, so they count until the batch ends.
#include <algorithm>

#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"
#include "sim/serve/passes.h"
#include "sim/serve/served_ops.h"

namespace foretoken::serve {
namespace {

bool is_of_encoder_output(const model::LayerOp& op) { return op.name == "cross key-value"; }

/// Bytes that the choice of beams moves for each entry of the vocabulary and row.
///
/// Penalties read and write the logits. Below 16 beams one kernel then reads them once for softmax and top k. From 16
/// on a kernel reads them and passes three times over log probabilities in 32 bits: five accesses. Top k copies these,
/// two more accesses, and reads the copy once for each beam.
///
/// Source: FasterTransformer df4a753, layers/DynamicDecodeLayer.cc (the limit of 16), kernels/
/// beam_search_penalty_kernels.cu, online_softmax_beamsearch_kernels.cu, layers/beam_search_layers/BeamSearchLayer.cu
/// (logProbAddCumLogProb), kernels/beam_search_topk_kernels.cu (topk_stage_1_opt3).
/// Holds for: no diversity of beams.
/// Error: see docs/modeller/serving.md, rows of T5 with 4 and 32 beams.
double selection_bytes(std::int64_t beams, double element) {
  constexpr double kWide = 4;  // bytes of a log probability
  const double logits = 3 * element;
  return beams < kLeastSortedBeams ? logits : logits + kWide * (5 + 2 + real(beams));
}

}  // namespace

Seconds PassTimes::encoder(const PromptChunk& prompts) const {
  const std::int64_t tokens = prompts.sequences * prompts.tokens, beams = service_.requests.beam_width;
  Seconds sum = encoder_layers(prompts) + encoder_keys(tokens * beams);
  if (beams > 1) sum += traffic(service_.element_bytes() * real(job_.model.hidden) * real(tokens * (1 + beams)));
  return sum;
}

Seconds PassTimes::encoder_layers(const PromptChunk& prompts) const {
  const std::int64_t tokens = prompts.sequences * prompts.tokens;
  model::LayerContext context = job_.layer_context();
  context.sequence = tokens;
  context.other_sequence = 1;
  const model::StackPlan plan = model::plan_of(job_.model);
  const std::vector<model::LayerRunOps> layers = model::decoder_layers(job_.model, context);
  Seconds sum = ops_time(model::forward_kernels(model::embedding_block(job_.model, context), context), 0);
  for (std::size_t kind = 0; kind < layers.size(); ++kind) {
    if (plan.kinds[kind].half != model::Half::kEncoder) continue;
    const model::OpList ops = served_layer(layers[kind].ops, context, job_.model, degrees_);
    const Seconds rest = unfused_kernels(real(tokens)) + prompt(cores_[kind], prompts, prompts.sequences);
    sum += real(layers[kind].count) * (rest + ops_time(ops, 0));
  }
  return sum;
}

/// Returns the time in which the decoder's layers make keys and values of so many tokens of the encoder's output.
Seconds PassTimes::encoder_keys(std::int64_t tokens) const {
  model::LayerContext context = job_.layer_context();
  context.sequence = tokens;
  context.other_sequence = 1;
  const model::StackPlan plan = model::plan_of(job_.model);
  const std::vector<model::LayerRunOps> layers = model::decoder_layers(job_.model, context);
  Seconds sum;
  for (std::size_t kind = 0; kind < layers.size(); ++kind) {
    if (plan.kinds[kind].half != model::Half::kDecoder) continue;
    model::OpList ops = served_layer(layers[kind].ops, context, job_.model, degrees_);
    std::erase_if(ops, [](const model::LayerOp& op) { return !is_of_encoder_output(op); });
    sum += real(layers[kind].count) * ops_time(ops, 0);
  }
  return sum;
}

Seconds PassTimes::beam_selection(std::int64_t rows) const {
  const double bytes = selection_bytes(service_.requests.beam_width, service_.element_bytes());
  return service_.engine.beam + traffic(bytes * real(service_.model.vocabulary) * real(rows));
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
  const std::int64_t sequences = pass.sequences(), rows = sequences * service_.requests.beam_width;
  const bool first = !pass.prompts.empty(), samples = !service_.requests.searches_beams();
  const double cached = first ? 1 : pass.cached / real(sequences);
  const double encoded = first ? real(pass.prompts.front().tokens) : pass.encoded / real(sequences);
  const Core& core = cores_.back();  // heads of self-attention and of cross-attention are alike
  const Seconds attention = cached_attention(core, rows, 1, cached) + cached_attention(core, rows, 1, encoded);
  Seconds sum = decoder_layers(rows) + real(cached_layers(service_.model)) * attention + head(rows);
  if (first) sum += encoder(pass.prompts.front());
  if (!samples) sum += beam_selection(rows);
  return with_host(sum, Seconds(0), samples ? sequences : 0);
}

}  // namespace foretoken::serve
