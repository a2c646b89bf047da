// Computes times of passes from the blocks of training, forward only.
#include "sim/serve/passes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <variant>

#include "sim/cost/costs.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"
#include "sim/serve/served_ops.h"
#include "sim/step/communication.h"
#include "sim/step/duration.h"
#include "sim/step/messages.h"
#include "sim/step/passes/pass_communication.h"

namespace foretoken::serve {
namespace {

/// The hottest of n expert ranks has at most n times the mean.
double imbalance_of(const Service& service, const Degrees& degrees) {
  return std::min(service.imbalance, real(degrees.expert));
}

}  // namespace

double cached_keys(const PromptChunk& chunk, std::int64_t window) {
  if (window == 0 || chunk.before == 0) return real(chunk.before);
  const auto pairs = [&](std::int64_t length) {
    return real(length) * AttentionShape{.kv_length = length, .window = window}.keys_per_query();
  };
  return (pairs(chunk.before + chunk.tokens) - pairs(chunk.before) - pairs(chunk.tokens)) / real(chunk.tokens);
}

std::int64_t PassShape::tokens() const {
  std::int64_t sum = decoding * checked;
  for (const PromptChunk& chunk : prompts) sum += chunk.sequences * chunk.tokens;
  return sum;
}

std::int64_t PassShape::answered() const { return sequences() + decoding * (checked - 1); }

std::int64_t PassShape::sequences() const {
  std::int64_t sum = decoding;
  for (const PromptChunk& chunk : prompts)
    if (chunk.last) sum += chunk.sequences;
  return sum;
}

job::Job job_of(const Service& service, const Degrees& degrees) {
  job::Job job;
  job.name = service.name;
  job.model = service.model;
  job.model.hidden_dropout = job.model.attention_dropout = 0;
  job.model.prediction_layers = 0;
  job.cluster = service.cluster;
  job.gpus = degrees.gpus();
  job.profile = service.profile;
  job.runtime.name = service.engine.name;
  job.runtime.fused_cross_entropy = true;
  job.parallelism.tensor = degrees.tensor;
  job.parallelism.pipeline = degrees.pipeline;
  job.parallelism.data = degrees.attention_data;
  job.parallelism.expert = degrees.expert;
  job.parallelism.expert_tensor = degrees.expert_tensor();
  // Tensor ranks of one attention group hold the same tokens, and each sends its part of them.
  job.routing.imbalance = imbalance_of(service, degrees) / degrees.tensor;
  job.precision = computes_in(service.precision, service.profile);
  if (job.precision == Precision::kFp8Block) {
    job.precision = Precision::kFp8;
    job.recipe.fp8 = model::Fp8Recipe::kBlockwise;
  } else if (service.engine.dynamic_fp8) {
    job.recipe.fp8 = model::Fp8Recipe::kTensorwise;
  }
  if (runs_unfused(service)) {  // FasterTransformer's softmax is one kernel (invokeMaskedSoftMax)
    job.attention = model::AttentionKind::kUnfused;
    job.runtime.fusions.any_softmax = true;
  }
  job.cuda_graphs = job::CudaGraphs::kFull;
  return job;
}

std::vector<std::vector<model::LayerCount>> stages_of(const Service& service, int stages) {
  std::vector<std::vector<model::LayerCount>> all;
  std::int64_t first = 0;
  for (int stage = 0; stage < stages; ++stage) {
    const std::int64_t count = service.model.layers / stages + (stage < service.model.layers % stages ? 1 : 0);
    all.push_back(model::layers_between(service.model, first, count));
    first += count;
  }
  return all;
}

// A rank holds at least one head of keys and values; ranks beyond their number hold copies. The narrow vector of latent
// attention is whole on every tensor rank.
double layer_cache_bytes(const Service& service, int tensor) {
  const model::Transformer& model = service.model;
  if (model.encoder) return 0;
  if (model.latent) return service.cache_bytes * real(model.latent->kv_rank + model.latent->rope_dim);
  const double heads = std::max(1.0, real(model.kv_heads) / tensor);
  return service.cache_bytes * 2 * heads * real(model.head_dim);
}

PassTimes::PassTimes(const Service& service, const Degrees& degrees)
    : service_(service),
      degrees_(degrees),
      job_(job_of(service, degrees)),
      layers_(stages_of(service, degrees.pipeline)) {
  for (const model::LayerRunOps& run : model::decoder_layers(job_.model, job_.layer_context())) {
    Core core{.token_bytes = layer_cache_bytes(service, degrees.tensor), .latent = service.model.latent.has_value()};
    for (const model::Op& op : run.ops.ops) {
      const auto* found = std::get_if<model::AttentionCore>(&op.work);
      if (found == nullptr) continue;
      core.heads = std::max<std::int64_t>(1, found->heads / degrees.tensor);
      core.kv_heads = std::max<std::int64_t>(1, found->kv_heads / degrees.tensor);
      core.prompt_dim = (found->head_dim + found->values_dim()) / 2;
      core.head_dim = core.latent ? service.model.latent->kv_rank + service.model.latent->rope_dim : found->head_dim;
      core.value_dim = core.latent ? service.model.latent->kv_rank : found->values_dim();
      core.window = found->window;
      core.causal = found->causal;
      core.whole = *found;
    }
    cores_.push_back(core);
  }
}

std::int64_t PassTimes::a_group(std::int64_t count) const {
  return (count + degrees_.attention_data - 1) / degrees_.attention_data;
}

/// Returns the tokens of the fullest attention group: its share of those that decode, and of the prompts an even share
/// or the longest chunk, which no other group helps with.
std::int64_t PassTimes::fullest_group(const PassShape& pass) const {
  std::int64_t prompts = 0, longest = 0;
  for (const PromptChunk& chunk : pass.prompts) {
    prompts += chunk.sequences * chunk.tokens;
    longest = std::max(longest, a_group(chunk.sequences) * chunk.tokens);
  }
  return a_group(pass.decoding) * pass.checked + std::max(a_group(prompts), longest);
}

// Only the experts that some token chooses are read.
GemmShape PassTimes::as_met(GemmShape shape, double all) const {
  if (shape.kind != BatchKind::kGrouped || !service_.model.experts) return shape;
  const model::Experts& experts = *service_.model.experts;
  const double chance = experts.chance_met(all);
  const double rows = imbalance_of(service_, degrees_) * all * real(experts.per_token) / degrees_.expert;
  const double met = std::clamp(std::ceil(real(shape.batch) * chance), 1.0, std::max(1.0, std::ceil(rows)));
  shape.batch = static_cast<std::int64_t>(met);
  shape.m = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rows / met)));
  return shape;
}

Seconds PassTimes::op_time(const model::LayerOp& op, double all) const {
  const Engine& engine = service_.engine;
  if (const auto* product = std::get_if<GemmShape>(&op.work)) {
    const WeightPrecision precision = precision_of(op, service_);
    GemmShape shape = as_met(*product, all);
    if (precision == WeightPrecision::kBf16 && shape.precision == Precision::kNvfp4) shape.precision = Precision::kBf16;
    return engine.kernel + engine.product_factor * product_time(shape, precision, service_) + integer_outputs(*product);
  }
  if (const auto* kernel = std::get_if<MemoryBoundShape>(&op.work)) return memory_bound(*kernel);
  const auto row = step::communication_of(job_, op);
  if (!row) return Seconds(0);
  const bool sums = row->collective == CollectiveKind::kAllReduce && row->site.group.nodes == 1;
  if (sums)
    if (const auto small = small_all_reduce_time(row->payload, row->site.group.ranks, service_))
      return engine.collective + *small;
  return engine.collective + step::cost_of(*row, job_);
}

// Experts take the time of their whole layer where the GPU has a law of it.
Seconds PassTimes::layer_time(const model::OpList& ops, double all) const {
  const cost::FoundExperts found = expert_layers(service_);
  const cost::ExpertLayerLaw* const law = found.laws == nullptr ? nullptr : found.laws->of(degrees_.expert);
  if (law == nullptr || std::none_of(ops.begin(), ops.end(), is_expert_product)) return ops_time(ops, all);
  const WithoutExperts layer = without_experts(ops);
  const GemmShape first = as_met(layer.products.front(), all);
  double weights = 0;
  for (const GemmShape& product : layer.products) weights += real(product.n) * real(product.k);
  // With attention data, tokens are sent to the experts, and a rank has those that arrive: at most its rows.
  const double arrived = std::min(all, real(first.batch) * real(first.m));
  return ops_time(layer.others, all) + cost::expert_layer_time({.tokens = degrees_.attention_data > 1 ? arrived : all,
                                                                .experts = layer.products.front().batch,
                                                                .met = first.batch,
                                                                .rows = first.m,
                                                                .hidden = first.k,
                                                                .weights = weights,
                                                                .weight_bytes = weight_bytes(service_.precision)},
                                                               *law);
}

Seconds PassTimes::ops_time(const model::OpList& ops, double all) const {
  Seconds sum;
  for (const model::LayerOp& op : ops) sum += op_time(op, all);
  return sum;
}

// Kernels of the layers that an engine does not fuse move bytes beyond the kernels of training.
Seconds PassTimes::traffic(double bytes) const {
  return Bytes(bytes) / (job_.profile.memory_bound.efficiency * job_.profile.memory_bound.bandwidth);
}

Seconds PassTimes::unfused_kernels(double tokens) const {
  return traffic(service_.engine.layer_traffic * tokens * real(job_.model.hidden) / degrees_.tensor);
}

const PassTimes::Dense& PassTimes::dense(std::int64_t tokens, std::int64_t all) {
  const auto [place, added] = dense_.try_emplace({tokens, all});
  Dense& times = place->second;
  if (!added) return times;
  model::LayerContext context = job_.layer_context();
  context.sequence = tokens;
  const Seconds unfused = unfused_kernels(real(tokens));
  for (const model::LayerRunOps& run : model::decoder_layers(job_.model, context)) {
    const model::OpList ops = without_idle_casts(served_layer(run.ops, context, job_.model, degrees_), service_);
    const bool triton =
        service_.moe_backend == MoeBackend::kTriton && std::any_of(ops.begin(), ops.end(), is_expert_product);
    const Engine& engine = service_.engine;
    times.layers.push_back(layer_time(ops, real(all)) + unfused + quantized_inputs(tokens) +
                           (triton ? engine.triton->sorting(all) : Seconds(0)));
    times.launches.push_back((1 + real(std::ssize(ops))) * engine.launch +
                             (triton ? engine.triton->launch : Seconds(0)));
  }
  times.embedding = ops_time(model::forward_kernels(model::embedding_block(job_.model, context), context), real(all));
  return times;
}

Seconds PassTimes::head(std::int64_t sequences) {
  if (sequences == 0 || service_.model.encoder) return Seconds(0);
  const auto [place, added] = head_.try_emplace(sequences);
  if (!added) return place->second;
  model::LayerContext context = job_.layer_context();
  context.sequence = sequences;
  return place->second = ops_time(served_head(job_.model, context), real(sequences));
}

// FasterTransformer df4a753, UnfusedAttentionLayer.cc: a kernel adds biases and sorts queries, keys and values by heads
// (invokeAddQKVBiasTranspose). Products of scores and of values follow, with the softmax between them. They run over
// the padding, too, which the first kernel puts back.
Seconds PassTimes::unfused_prompt(const Core& core, const PromptChunk& chunk, std::int64_t sequences) const {
  model::LayerContext context = job_.layer_context();
  context.sequence = std::max(chunk.tokens, service_.requests.padded_tokens);
  context.micro_batch = sequences;
  const double padded = real(context.sequence * sequences), kept = real(chunk.tokens * sequences);
  const double width = real(core.whole.operand_width()) / degrees_.tensor;
  model::BlockOps block;
  block.ops.push_back({.name = "sort queries, keys and values by heads",
                       .role = model::OpRole::kAttention,
                       .work = model::MemoryBound{.forward_bytes = 2 * (kept + padded) * width}});
  block.ops.push_back({.name = "attention", .role = model::OpRole::kAttention, .work = core.whole});
  return ops_time(model::forward_kernels(block, context), 0);
}

// The new tokens of a chunk meet each other, of a decoder under a causal mask, and all tokens before them without one.
// A window holds both: a token that meets many of its chunk meets few of the cache.
Seconds PassTimes::prompt(const Core& core, const PromptChunk& chunk, std::int64_t sequences) const {
  if (job_.attention == model::AttentionKind::kUnfused) return unfused_prompt(core, chunk, sequences);
  AttentionShape shape{
      .batch = sequences,
      .heads = core.heads,
      .kv_heads = core.kv_heads,
      .q_length = chunk.tokens,
      .kv_length = chunk.tokens,
      .head_dim = core.prompt_dim,
      .causal = core.causal,
      .kernel = service_.batching == Batching::kContinuous ? FlashKernel::kServing : FlashKernel::kFastest,
      .window = core.window < chunk.tokens ? core.window : 0};
  Seconds sum = service_.engine.kernel + cost::attention_time(shape, job_.profile);
  if (service_.precision == WeightPrecision::kW8a8) sum += tiled_outputs(core, chunk.tokens * sequences);
  const double scores = real(shape.batch * core.heads) * real(chunk.tokens) * real(chunk.before + chunk.tokens);
  sum += traffic(service_.engine.score_traffic * scores);
  shape.kv_length = std::llround(cached_keys(chunk, core.window));
  shape.causal = false;
  shape.window = 0;
  if (shape.kv_length > 0) sum += cost::attention_time(shape, job_.profile);
  return sum;
}

// Attention groups share the prompts. The fullest of them has an even share, and at least the longest chunk.
Seconds PassTimes::prompts(const Core& core, const PassShape& pass) const {
  Seconds sum, longest;
  for (const PromptChunk& chunk : pass.prompts) {
    sum += prompt(core, chunk, chunk.sequences);
    if (degrees_.attention_data > 1) longest = std::max(longest, prompt(core, chunk, a_group(chunk.sequences)));
  }
  return std::max(sum / degrees_.attention_data, longest);
}

Seconds PassTimes::attention(const Core& core, const PassShape& pass) const {
  const Seconds time = prompts(core, pass);
  if (pass.decoding == 0) return time;
  double cached = pass.cached / real(pass.decoding);
  if (core.window > 0) cached = std::min(cached, real(core.window));
  return time + cached_attention(core, a_group(pass.decoding), pass.checked, cached);
}

Seconds PassTimes::cached_attention(const Core& core, std::int64_t sequences, std::int64_t queries,
                                    double cached) const {
  return service_.engine.kernel + cache_attention_time({.sequences = sequences,
                                                        .queries = queries,
                                                        .cached = cached,
                                                        .heads = core.heads,
                                                        .kv_heads = core.kv_heads,
                                                        .head_dim = core.head_dim,
                                                        .value_dim = core.value_dim,
                                                        .token_bytes = core.token_bytes,
                                                        .latent = core.latent},
                                                       service_);
}

/// Returns the host's time to launch the kernels of a stage one by one.
Seconds PassTimes::launches(const Dense& parts, std::size_t stage) const {
  Seconds sum;
  for (const model::LayerCount& run : layers_[stage])
    sum += real(run.count) * parts.launches[static_cast<std::size_t>(run.kind)];
  return sum;
}

// A host that works while a pass runs is hidden behind it, unless it takes longer. It launches the kernels of the next
// pass after it has composed it.
Seconds PassTimes::with_host(Seconds device, Seconds launches, std::int64_t sequences) const {
  const Engine& engine = service_.engine;
  const Seconds host = engine.pass + real(sequences) * engine.sequence;
  return engine.overlaps_host ? std::max(device, host + launches) : std::max(device, launches) + host;
}

void PassTimes::time(const PassShape& pass, std::vector<des::Duration>& times) {
  if (service_.model.encoder_decoder) {
    times.assign(1, step::duration_of(halves(pass)));
    return;
  }
  if (!pass.prompts.empty()) return compute(pass, times);
  constexpr unsigned kBits = 12;
  if (decoding_.empty()) {
    decoding_.resize(std::size_t{1} << kBits);
    decoding_times_.resize(decoding_.size() * layers_.size());
  }
  const Decoding key{.requests = pass.decoding, .checked = pass.checked, .cached = pass.cached};
  const std::uint64_t hash = (std::bit_cast<std::uint64_t>(key.cached) + static_cast<std::uint64_t>(key.requests)) *
                             0x9e3779b97f4a7c15ULL;  // Knuth, TAOCP 3, section 6.4: 2^64 over the golden ratio
  const std::size_t slot = hash >> (64 - kBits);
  const auto kept = decoding_times_.begin() + static_cast<std::ptrdiff_t>(slot * layers_.size());
  if (decoding_[slot] == key) {
    times.assign(kept, kept + static_cast<std::ptrdiff_t>(layers_.size()));
    return;
  }
  compute(pass, times);
  decoding_[slot] = key;
  std::copy(times.begin(), times.end(), kept);
}

void PassTimes::compute(const PassShape& pass, std::vector<des::Duration>& times) {
  const Dense& parts = dense(fullest_group(pass), pass.tokens());
  attention_.clear();
  for (const Core& core : cores_) attention_.push_back(attention(core, pass));
  times.resize(layers_.size());
  for (std::size_t stage = 0; stage < layers_.size(); ++stage) {
    Seconds sum;
    for (const model::LayerCount& run : layers_[stage]) {
      const auto kind = static_cast<std::size_t>(run.kind);
      sum += real(run.count) * (parts.layers[kind] + attention_[kind]);
    }
    if (stage == 0) sum += parts.embedding;
    const Seconds launched = pass.prompts.empty() ? Seconds(0) : launches(parts, stage);
    if (stage + 1 == layers_.size())
      sum = with_host(sum + head(a_group(pass.answered())), launched, pass.sequences());
    else
      sum = std::max(sum, launched);
    times[stage] = step::duration_of(sum);
  }
}

des::Duration PassTimes::message(std::int64_t tokens) {
  if (stages() == 1) return {};
  const auto [place, added] = messages_.try_emplace(tokens);
  if (!added) return place->second;
  step::Communication row = step::bare_message(id_of<Stage>(0), id_of<Stage>(1), step::Purpose::kActivations);
  row.payload = Bytes(service_.element_bytes() * real(a_group(tokens)) * real(service_.model.hidden));
  const int domain = service_.cluster.links.gpus;
  const net::RankGrid grid = job_.grid();
  row.site.links = service_.cluster.links;
  row.site.group.nodes = grid.hop_crosses_nodes(id_of<Stage>(0), domain) ? 2 : 1;
  row.site.group.groups_per_node = grid.senders_per_node(domain);
  return place->second = step::time_of(row, job_);
}

PoolTimes times_of(const Service& service) {
  PoolTimes times;
  for (const Pool& pool : pools_of(service)) times.push_back(std::make_unique<PassTimes>(service, pool.degrees));
  return times;
}

}  // namespace foretoken::serve
