// Counts bytes of a service.
//
// Weights of products have the stated precision. Tables, norms and the head have 16 bits, or 32 with fp32 and tf32.
// Activations follow the widths of the engine's buffers (calibration/engines). A continuous engine turns what is left
// into pages of the cache.
#include "sim/serve/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/parameters.h"
#include "sim/serve/passes.h"
#include "sim/serve/run/static_batch.h"
#include "sim/serve/served_ops.h"

namespace foretoken::serve {
namespace {

constexpr std::int64_t kFusedHeadDim = 64;

/// Bytes of a weight: of a matrix of the experts, of attention, of another matrix, of the rest.
struct WeightBytes {
  double expert = 2, attention = 2, matrix = 2, other = 2;
};

double block_bytes(const model::BlockOps& block, const model::LayerContext& context, WeightBytes bytes) {
  model::BlockOps matrices, of_attention;
  for (const model::Weight& weight : block.weights) {
    if (weight.kind != model::WeightKind::kMatrix) continue;
    matrices.weights.push_back(weight);
    if (is_of_attention(weight.name)) of_attention.weights.push_back(weight);
  }
  const double experts = model::local_expert_parameters(matrices, context);
  const double attention = model::local_parameters(of_attention, context);
  const double others = model::local_parameters(matrices, context) - experts - attention;
  const double rest = model::local_parameters(block, context) - experts - attention - others;
  return experts * bytes.expert + attention * bytes.attention + others * bytes.matrix + rest * bytes.other;
}

/// Tokens and sequences of the largest pass on one attention group. A static batch of `at_once` requests runs its
/// prompts in micro-batches; a beam search has a sequence for each beam. An engine that does not chunk prompts runs its
/// longest one in a single pass.
struct LargestPass {
  double tokens = 1, sequences = 1;
  double scores = 0;  ///< of a head
};

LargestPass largest_pass(const Service& service, const Degrees& degrees, std::int64_t at_once) {
  const Requests& requests = service.requests;
  if (service.batching == Batching::kStatic) {
    const double batch = std::ceil(real(at_once) / degrees.attention_data);
    const auto whole = static_cast<std::int64_t>(batch);
    const double part = real(micro_batch(service.engine, whole, requests.input_tokens, degrees.pipeline));
    const double length = real(std::max(requests.input_tokens, requests.padded_tokens));
    const double prompts = part * real(requests.input_tokens), rows = batch * real(requests.beam_width);
    return {requests.searches_beams() ? std::max(prompts, rows) : prompts, rows, part * length * length};
  }
  const double sequences = real(group_sequences(service.engine, degrees));
  const double shared = real(group_tokens(service.engine, degrees));
  const double whole = service.engine.chunks_prompts ? 0 : real(service.longest_prompt());
  return {std::max(shared, whole), sequences, 0};
}

/// Bytes of the scores of all heads between a token and another. Unfused attention writes them.
double score_bytes(const Service& service, const Degrees& degrees) {
  const double heads = std::max(1.0, real(service.model.heads) / degrees.tensor);
  if (runs_unfused(service)) return service.element_bytes() * heads;
  return service.model.head_dim > kFusedHeadDim ? service.engine.score_bytes * heads : 0;
}

/// Bytes of the buffers of a token in a pass, without scores.
double buffer_bytes(const Service& service) {
  return service.engine.activation_widths * service.element_bytes() * real(service.model.hidden);
}

// A beam search has two buffers of logits, and from 16 beams on two of log probabilities in 32 bits. Each row has a
// copy of the encoder's output (FasterTransformer df4a753: logits_buf_, nccl_logits_buf_ and tiled_encoder_output_ of
// T5Decoding.cc, allocateBuffer of BeamSearchLayer.cu).
double row_bytes(const Service& service) {
  const double vocabulary = real(service.model.vocabulary), element = service.element_bytes();
  if (!service.requests.searches_beams()) return service.engine.logit_bytes * vocabulary;
  const double sorted = service.requests.beam_width < kLeastSortedBeams ? 0 : 2 * 4;
  return (2 * element + sorted) * vocabulary + element * real(service.requests.input_tokens * service.model.hidden);
}

Bytes activations_of(const Service& service, const Degrees& degrees, std::int64_t at_once) {
  const LargestPass pass = largest_pass(service, degrees, at_once);
  return Bytes(buffer_bytes(service) * pass.tokens + row_bytes(service) * pass.sequences +
               score_bytes(service, degrees) * pass.scores);
}

/// Keys and values of a static batch. Each beam has its own, those of the prompt, too. Two buffers of 4 bytes tell for
/// each token of an answer whose keys and values a row reads (cache_indirections_ of T5Decoding.cc).
Bytes static_cache(const Service& service, const Degrees& degrees, std::int64_t batch, Bytes token) {
  const Requests& requests = service.requests;
  const double rows = std::ceil(real(batch) / degrees.attention_data) * real(requests.beam_width);
  const double indices = requests.searches_beams() ? 2 * 4 * real(requests.output_tokens + 1) : 0;
  return rows * (real(service.longest()) * token + Bytes(indices));
}

std::int64_t most_layers(const Service& service, const Degrees& degrees) {
  return (cached_layers(service.model) + degrees.pipeline - 1) / degrees.pipeline;
}

MemoryLimit limit_of(const Memory& memory) {
  if (memory.needed <= memory.capacity) return MemoryLimit::kNone;
  if (memory.weights + memory.overhead > memory.capacity) return MemoryLimit::kWeights;
  if (memory.weights + memory.overhead + memory.activations > memory.capacity) return MemoryLimit::kActivations;
  return MemoryLimit::kCache;
}

/// Returns the tokens s of one sequence for which `room` is enough: b s + c s^2, with c for unfused scores.
double longest_alone(const Service& service, const Degrees& degrees, double room) {
  const double linear = buffer_bytes(service), square = score_bytes(service, degrees);
  if (square == 0) return room / linear;
  return (std::sqrt(linear * linear + 4 * square * room) - linear) / (2 * square);
}

constexpr std::int64_t kMost = std::int64_t{1} << 40;  // tokens or sequences: beyond any memory

/// Returns whole tokens or sequences. An engine whose activations take no bytes has room for kMost.
std::int64_t whole(double count) { return count < real(kMost) ? static_cast<std::int64_t>(count) : kMost; }

/// Fills in what an encoder leaves: it has no cache, and its activations grow with the tokens of the batch.
void fill_encoder(const Service& service, const Degrees& degrees, Memory& memory) {
  const LargestPass pass = largest_pass(service, degrees, service.requests.at_once);
  const Bytes fixed = memory.weights + memory.overhead;
  const double tokens = std::max(0.0, (memory.capacity - fixed) / memory.activations) * pass.tokens;
  memory.max_batch = whole(tokens / real(service.requests.input_tokens));
  const double room = std::max(0.0, (memory.capacity - fixed).value());
  memory.max_context = whole(longest_alone(service, degrees, room));
  if (service.model.max_positions > 0) memory.max_context = std::min(memory.max_context, service.model.max_positions);
  memory.needed = fixed + memory.activations;
  memory.limit = limit_of(memory);
}

/// Pages of the longest request, alone: those of the beginning that all prompts share, and its own. Speculation writes
/// tokens before it knows whether they stay.
std::int64_t longest_pages(const Service& service, std::int64_t page) {
  const std::int64_t checked = service.speculation ? service.speculation->tokens : 0;
  const std::int64_t split = service.requests.prefix_share > 0 ? 1 : 0;  // both parts end in a page of their own
  return (service.longest() + checked + page - 1) / page + split;
}

/// Requests of a static batch that fit at once. A larger batch has larger activations.
std::int64_t static_room(const Service& service, const Degrees& degrees, const Memory& memory) {
  const auto fits = [&](std::int64_t batch) {
    return memory.weights + memory.overhead + activations_of(service, degrees, batch) +
               static_cache(service, degrees, batch, memory.token) <=
           memory.capacity;
  };
  std::int64_t low = 0, high = 1;
  while (high < kMost && fits(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  // Micro-batches make the activations uneven: the stated batch may fit though a smaller one does not.
  return fits(service.requests.at_once) ? std::max(low, service.requests.at_once) : low;
}

}  // namespace

std::string_view name_of(MemoryLimit limit) {
  switch (limit) {
    case MemoryLimit::kNone:
      return "none";
    case MemoryLimit::kWeights:
      return "weights";
    case MemoryLimit::kActivations:
      return "activations";
    case MemoryLimit::kCache:
      return "cache";
  }
  return "";
}

Bytes weights_of(const Service& service, const Degrees& degrees) {
  const job::Job job = job_of(service, degrees);
  const model::LayerContext context = job.layer_context();
  const double wide = service.element_bytes();
  const WeightBytes narrow{.expert = weight_bytes(service.precision),
                           .attention = weight_bytes(attention_precision(service)),
                           .matrix = weight_bytes(beside_experts(service.precision)),
                           .other = wide};
  const WeightBytes whole{wide, wide, wide, wide};
  const auto kinds = model::decoder_layers(job.model, context);
  const model::BlockOps embedding = model::embedding_block(job.model, context);
  const model::BlockOps head = model::head_block(job.model, context);
  const auto stages = stages_of(service, degrees.pipeline);
  double most = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    double bytes = 0;
    for (const model::LayerCount& run : stages[stage])
      bytes += run.count * block_bytes(kinds[static_cast<std::size_t>(run.kind)].ops, context, narrow);
    if (stage == 0) bytes += block_bytes(embedding, context, whole);
    if (stage + 1 == stages.size()) {
      bytes += block_bytes(head, context, whole);
      const bool copy = service.model.tied_embeddings && (stages.size() > 1 || service.engine.copies_embedding);
      if (copy) bytes += wide * model::local_table(head, context);
    }
    most = std::max(most, bytes);
  }
  return Bytes(most);
}

Memory memory_of(const Service& service, const Pool& pool) {
  const Degrees& degrees = pool.degrees;
  const Engine& engine = service.engine;
  Memory memory{.weights = weights_of(service, degrees),
                .activations = activations_of(service, degrees, service.requests.at_once),
                .overhead = engine.overhead,
                .capacity = engine.memory_fraction * service.cluster.gpu.memory,
                .token = Bytes(real(most_layers(service, degrees)) * layer_cache_bytes(service, degrees.tensor))};
  if (service.model.encoder) {
    fill_encoder(service, degrees, memory);
    return memory;
  }
  const Bytes fixed = memory.weights + memory.activations + memory.overhead;
  const bool is_static = service.batching == Batching::kStatic;
  const std::int64_t page = is_static ? 1 : engine.block_tokens;
  const double room = std::max(0.0, (memory.capacity - fixed).value());
  const auto pages = static_cast<std::int64_t>(room / (real(page) * memory.token.value()));
  const std::int64_t longest = longest_pages(service, page);
  memory.pages = pages * degrees.attention_data;
  memory.cached_tokens = memory.pages * page;
  memory.max_batch = is_static ? static_room(service, degrees, memory) : pages / longest * degrees.attention_data;
  const double usable = real(pages) * (1 - engine.watermark) / real(service.requests.beam_width);
  memory.max_context = static_cast<std::int64_t>(usable) * page;
  const Bytes held = static_cache(service, degrees, service.requests.at_once, memory.token);
  const double alone = real(longest) / (1 - engine.watermark);
  memory.needed = fixed + (is_static ? held : alone * real(page) * memory.token);
  memory.cache = is_static ? held : real(pages) * real(page) * memory.token;
  memory.limit = limit_of(memory);
  return memory;
}

}  // namespace foretoken::serve
