// Counts bytes of a service.
//
// Weights of products have the stated precision. Tables, norms and the head have 16 bits. Activations follow the widths
// of the engine's buffers (calibration/engines). A continuous engine turns what is left into pages of the cache.
#include "sim/serve/memory.h"

#include <algorithm>
#include <cmath>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/parameters.h"
#include "sim/serve/passes.h"
#include "sim/serve/run/static_batch.h"

namespace foretoken::serve {
namespace {

constexpr double kWide = 2;  // bytes of a 16-bit element
constexpr std::int64_t kFusedHeadDim = 64;

double block_bytes(const model::BlockOps& block, const model::LayerContext& context, double matrix_bytes) {
  model::BlockOps matrices;
  for (const model::Weight& weight : block.weights)
    if (weight.kind == model::WeightKind::kMatrix) matrices.weights.push_back(weight);
  const double narrow = model::local_parameters(matrices, context);
  return narrow * matrix_bytes + (model::local_parameters(block, context) - narrow) * kWide;
}

/// Tokens and sequences of the largest pass on one attention group. A static batch runs its prompts in micro-batches.
struct LargestPass {
  double tokens = 1, sequences = 1, prompt = 1;
};

LargestPass largest_pass(const Service& service, const Degrees& degrees) {
  const Requests& requests = service.requests;
  const double groups = degrees.attention_data;
  if (service.batching == Batching::kStatic) {
    const double batch = std::ceil(real(requests.at_once) / groups);
    const auto whole = static_cast<std::int64_t>(batch);
    const double part = real(micro_batch(service.engine, whole, requests.input_tokens, degrees.pipeline));
    return {part * real(requests.input_tokens), batch, real(requests.input_tokens)};
  }
  const double sequences = std::ceil(real(service.engine.max_sequences) / groups);
  return {std::ceil(real(service.engine.token_budget) / groups), sequences, 0};
}

Bytes activations_of(const Service& service, const Degrees& degrees) {
  const Engine& engine = service.engine;
  const LargestPass pass = largest_pass(service, degrees);
  const bool scores = service.model.head_dim > kFusedHeadDim;
  const double heads = std::max(1.0, real(service.model.heads) / degrees.tensor);
  return Bytes(engine.activation_widths * kWide * real(service.model.hidden) * pass.tokens +
               engine.logit_bytes * real(service.model.vocabulary) * pass.sequences +
               (scores ? engine.score_bytes * heads * pass.prompt * pass.tokens : 0));
}

std::int64_t most_layers(const Service& service, const Degrees& degrees) {
  return (service.model.layers + degrees.pipeline - 1) / degrees.pipeline;
}

MemoryLimit limit_of(const Memory& memory) {
  if (memory.needed <= memory.capacity) return MemoryLimit::kNone;
  if (memory.weights + memory.overhead > memory.capacity) return MemoryLimit::kWeights;
  if (memory.weights + memory.overhead + memory.activations > memory.capacity) return MemoryLimit::kActivations;
  return MemoryLimit::kCache;
}

/// Fills in what an encoder leaves: it has no cache, and its activations grow with the tokens of the batch.
void fill_encoder(const Service& service, const Degrees& degrees, Memory& memory) {
  const LargestPass pass = largest_pass(service, degrees);
  const Bytes fixed = memory.weights + memory.overhead;
  const double tokens = std::max(0.0, (memory.capacity - fixed) / memory.activations) * pass.tokens;
  memory.max_batch = static_cast<std::int64_t>(tokens / real(service.requests.input_tokens));
  memory.max_context = static_cast<std::int64_t>(tokens);
  if (service.model.max_positions > 0) memory.max_context = std::min(memory.max_context, service.model.max_positions);
  memory.needed = fixed + memory.activations;
  memory.limit = limit_of(memory);
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
  const double matrix = weight_bytes(service.precision);
  const auto kinds = model::decoder_layers(job.model, context);
  const model::BlockOps embedding = model::embedding_block(job.model, context);
  const model::BlockOps head = model::head_block(job.model, context);
  const auto stages = stages_of(service, degrees.pipeline);
  double most = 0;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    double bytes = 0;
    for (const model::LayerCount& run : stages[stage])
      bytes += run.count * block_bytes(kinds[static_cast<std::size_t>(run.kind)].ops, context, matrix);
    if (stage == 0) bytes += block_bytes(embedding, context, kWide);
    if (stage + 1 == stages.size()) {
      bytes += block_bytes(head, context, kWide);
      const bool copy = service.model.tied_embeddings && (stages.size() > 1 || service.engine.copies_embedding);
      if (copy) bytes += kWide * model::local_table(head, context);
    }
    most = std::max(most, bytes);
  }
  return Bytes(most);
}

Memory memory_of(const Service& service, const Pool& pool) {
  const Degrees& degrees = pool.degrees;
  const Engine& engine = service.engine;
  Memory memory{.weights = weights_of(service, degrees),
                .activations = activations_of(service, degrees),
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
  const std::int64_t longest = (service.longest() + page - 1) / page;  // pages of the longest request
  memory.pages = pages * degrees.attention_data;
  memory.cached_tokens = memory.pages * page;
  memory.max_batch = pages / longest * degrees.attention_data;
  memory.max_context = static_cast<std::int64_t>(real(pages) * (1 - engine.watermark)) * page;
  const double batch = std::ceil(real(service.requests.at_once) / degrees.attention_data);
  const double wanted = is_static ? batch * real(longest) : real(longest) / (1 - engine.watermark);
  memory.needed = fixed + wanted * real(page) * memory.token;
  memory.cache = is_static ? wanted * memory.token : real(pages) * real(page) * memory.token;
  memory.limit = limit_of(memory);
  return memory;
}

}  // namespace foretoken::serve
