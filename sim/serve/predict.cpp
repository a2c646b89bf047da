// Turns a run of requests into the numbers of a prediction.
#include "sim/serve/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/noun.h"
#include "sim/serve/kernels.h"
#include "sim/serve/run/simulate.h"
#include "sim/serve/run/static_batch.h"

namespace foretoken::serve {
namespace {

constexpr double kLate = 0.05;     // of the time between the first arrival and the last
constexpr std::int64_t kFew = 50;  // requests that cannot tell whether a queue grows

double seconds(des::Duration time) { return des::to_seconds(time).value(); }

/// Returns the smallest value that `share` of the sorted values do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), quantile(values, 0.5), quantile(values, 0.99)};
}

double ttft(const Request& request) { return seconds(request.first - request.arrival); }
double tpot(const Request& request) { return seconds(request.finish - request.first) / (request.output - 1); }

bool meets(const Limits& limits, const Request& request) {
  if (limits.ttft_s && ttft(request) > *limits.ttft_s) return false;
  if (limits.latency_s && seconds(request.finish - request.arrival) > *limits.latency_s) return false;
  return !limits.tpot_s || request.output < 2 || tpot(request) <= *limits.tpot_s;
}

/// Returns the mean time to the first token of requests from one fifth of the arrivals to another.
double ttft_between(const std::vector<Request>& requests, int from, int to) {
  const auto size = static_cast<std::ptrdiff_t>(requests.size());
  const auto first = requests.begin() + size * from / 5, last = requests.begin() + size * to / 5;
  const double sum =
      std::accumulate(first, last, 0.0, [](double time, const Request& request) { return time + ttft(request); });
  return first == last ? 0 : sum / static_cast<double>(last - first);
}

/// Poisson arrivals that wait longer and longer tell of a queue that grows, though the last answers take long, too.
bool waits_grow(const Requests& requests, const Prediction& prediction) {
  return requests.kind == ArrivalKind::kPoisson && prediction.requests >= kFew &&
         prediction.late_ttft_s - prediction.early_ttft_s > kLate * prediction.arrival_span_s;
}

void count_requests(const Service& service, const Run& run, Prediction& prediction) {
  std::vector<double> firsts, latencies, steps;
  // Users of a closed loop all ask at the start, which no real load does. Their first requests are not judged.
  const std::int64_t burst = service.requests.kind == ArrivalKind::kClosed ? service.requests.at_once : 0;
  const bool judges_all = burst >= static_cast<std::int64_t>(run.requests.size());
  std::int64_t number = 0;
  des::Instant first_arrival = des::kNever, last_arrival{};
  for (const Request& request : run.requests) {
    first_arrival = std::min(first_arrival, request.arrival);
    last_arrival = std::max(last_arrival, request.arrival);
    prediction.input_tokens += request.input;
    prediction.output_tokens += request.output;
    firsts.push_back(ttft(request));
    latencies.push_back(seconds(request.finish - request.arrival));
    if (request.output > 1) steps.push_back(tpot(request));
    if (number++ < burst && !judges_all) continue;
    ++prediction.judged;
    if (meets(service.limits, request)) ++prediction.met;
  }
  prediction.requests = static_cast<std::int64_t>(run.requests.size());
  prediction.ttft = spread_of(std::move(firsts));
  prediction.latency = spread_of(std::move(latencies));
  if (!steps.empty()) prediction.tpot = spread_of(std::move(steps));
  if (service.limits.any()) {
    const double share = real(prediction.met) / real(prediction.judged);
    prediction.goodput_requests_per_s = share * real(prediction.requests) / seconds(run.makespan);
  }
  prediction.arrival_span_s = seconds(last_arrival - first_arrival);
  prediction.early_ttft_s = ttft_between(run.requests, 1, 2);
  prediction.late_ttft_s = ttft_between(run.requests, 4, 5);
}

void count_rates(const Service& service, const Run& run, Prediction& prediction) {
  const double time = seconds(run.makespan);
  prediction.makespan_s = time;
  prediction.requests_per_s = real(prediction.requests) / time;
  prediction.output_tokens_per_s = real(prediction.output_tokens) / time;
  prediction.total_tokens_per_s = real(prediction.input_tokens + prediction.output_tokens) / time;
  const double counted = service.model.encoder ? prediction.total_tokens_per_s : prediction.output_tokens_per_s;
  prediction.tokens_per_s_per_gpu = counted / service.gpus();
  prediction.mean_in_system = run.request_seconds / time;
  if (service.price_per_gpu_hour)
    prediction.cost_per_million_tokens = *service.price_per_gpu_hour * service.gpus() / 3600 / counted * 1e6;
  const net::Cluster& cluster = service.cluster;
  if (const auto& watts = cluster.power_limit_watts ? cluster.power_limit_watts : cluster.gpu.tdp_watts)
    prediction.kwh_per_million_tokens = *watts * service.gpus() / 3.6e6 / counted * 1e6;
}

/// Returns the passes of all requests when none shares a pass with another.
double passes_alone(const Service& service) {
  const Requests& requests = service.requests;
  const double tokens_a_pass = service.speculation ? service.speculation->tokens_a_pass() : 1;
  const auto passes_of = [&](std::int64_t input, std::int64_t output) {
    return real(output) / tokens_a_pass + std::ceil(real(input) / real(service.engine.token_budget));
  };
  if (requests.kind != ArrivalKind::kTrace)
    return real(requests.count) * passes_of(requests.input_tokens, requests.output_tokens);
  double all = 0;
  for (const TracedRequest& one : requests.trace) all += passes_of(one.input_tokens, one.output_tokens);
  return all;
}

/// Few requests cannot tell whether a queue grows, nor can waits that are short beside the time between the arrivals.
bool queue_grows(const Service& service, const Prediction& prediction) {
  return prediction.requests >= kFew && prediction.ttft.mean > kLate * prediction.arrival_span_s &&
         !keeps_up(service.requests, prediction);
}

}  // namespace

double most_passes(const Service& service) {
  const Requests& requests = service.requests;
  if (service.batching == Batching::kStatic) return real(requests.output_tokens) * service.pool.degrees.pipeline;
  const Pool pool = pools_of(service).back();
  const Memory memory = memory_of(service, pool);
  if (!memory.fits()) return 0;  // nothing runs
  const double alone = passes_alone(service);
  const double sequences = real(group_sequences(service.engine, pool.degrees) * pool.degrees.attention_data);
  const double together = std::max(1.0, std::min(sequences, real(memory.max_batch)));  // in an instance
  if (requests.kind == ArrivalKind::kClosed)
    return alone / std::clamp(real(requests.at_once) / pool.instances(), 1.0, together);
  double span = requests.kind == ArrivalKind::kPoisson ? real(requests.count) / requests.rate_per_s : 0;
  if (!requests.trace.empty()) span = requests.trace.back().arrival_s - requests.trace.front().arrival_s;
  std::vector<des::Duration> stages;
  PassTimes(service, pool.degrees).time({.prompts = {}, .decoding = 1, .cached = 1}, stages);
  const double shortest = std::accumulate(stages.begin(), stages.end(), 0.0,
                                          [](double sum, des::Duration stage) { return sum + seconds(stage); });
  const double side_by_side = pool.instances() * static_cast<double>(stages.size());
  return std::min(alone, side_by_side * span / shortest + alone / together);
}

Predictor::Predictor(Service service) : service_(std::move(service)), times_(times_of(service_)) {}

Prediction Predictor::predict(bool traces) {
  Prediction prediction;
  for (const Pool& pool : pools_of(service_)) prediction.memory.push_back(memory_of(service_, pool));
  for (const Memory& memory : prediction.memory) prediction.fits = prediction.fits && memory.fits();
  if (!prediction.fits) return prediction;
  Run run = service_.batching == Batching::kStatic ? run_static(service_, *times_.front(), traces)
                                                   : simulate(service_, times_, traces);
  count_requests(service_, run, prediction);
  count_rates(service_, run, prediction);
  prediction.queue_grows = queue_grows(service_, prediction);
  prediction.passes = run.passes;
  prediction.preemptions = run.preemptions;
  prediction.peak_running = run.peak_running;
  prediction.peak_cache_share = run.peak_cache;
  prediction.traced = std::move(run.traced);
  return prediction;
}

Prediction Predictor::predict(const Requests& requests, std::int64_t token_budget) {
  service_.requests = requests;
  service_.engine.token_budget = token_budget;
  return predict();
}

bool keeps_up(const Requests& requests, const Prediction& prediction) {
  if (requests.kind == ArrivalKind::kBatch || requests.kind == ArrivalKind::kClosed) return true;
  if (waits_grow(requests, prediction)) return false;
  const double answering = prediction.latency.mean - prediction.ttft.mean;
  return prediction.makespan_s <= (1 + kLate) * prediction.arrival_span_s + answering;
}

namespace {

void assume_products_and_attention(const Service& service, std::vector<std::string>& assumptions) {
  const bool integers = service.precision == WeightPrecision::kW8a8, unfused = runs_unfused(service);
  if (is_wide(service.precision) || integers) {
    const auto law = service.profile.gemm.find(computes_in(service.precision, service.profile));
    if (law != service.profile.gemm.end() && law->second.evidence.provenance == cost::Provenance::kScaled)
      assumptions.push_back(fmt::format("products in {} are scaled from {}: {}", name_of(service.precision),
                                        law->second.evidence.scaled_from, law->second.evidence.source));
  }
  if (is_wide(service.precision))
    assumptions.push_back(fmt::format("attention unfused: fused kernels have none for {}", name_of(service.precision)));
  else if (unfused && service.model.encoder)
    assumptions.push_back(fmt::format("attention unfused: engine {} has no fused kernels for heads of {}",
                                      service.engine.name, service.model.head_dim));
  else if (unfused)
    assumptions.emplace_back("attention over prompts unfused: fused kernels do not read relative positions");
  else if (integers)
    assumptions.emplace_back("fused attention takes the time of 16 bits: no table has it in integers of 8 bits");
  if (cache_reading(service.model.heads, service.model.kv_heads, service) == CacheReading::kFromMemory &&
      !service.model.encoder)
    assumptions.push_back(
        service.cache_bytes < 2
            ? "decoding without an XQA kernel reads the cache from memory for each query head, since each head widens "
              "its 8 bits: published runs take three quarters of that time"
            : fmt::format("decoding without an XQA kernel reads the cache from memory for each query head: the rate of "
                          "the L2 cache of {} is not known",
                          service.cluster.gpu.name));
}

/// Says where the engine's products in 8 or 4 bits have no law of their own, or that of another GPU.
void assume_engine_products(const Service& service, std::vector<std::string>& assumptions) {
  const Precision computed = computes_in(service.precision, service.profile);
  const std::string& engine = service.engine.products;
  if (engine.empty() || bytes_per_element(computed) >= 2) return;
  const cost::EngineProductsLaw* const law = products_law(computed, service);
  if (law == nullptr)
    assumptions.push_back(fmt::format("products in {} take the times of the profile: there is no law of {}'s on {}",
                                      name_of(service.precision), engine, service.cluster.gpu.name));
  else if (law->evidence.provenance == cost::Provenance::kScaled)
    assumptions.push_back(fmt::format("products in {} have {}'s law of {}: {}", name_of(service.precision), engine,
                                      law->evidence.scaled_from, law->evidence.source));
}

/// Says that fp8 inputs have dynamic scales, where the engine's kernels look for them.
void assume_dynamic_fp8(const Service& service, std::vector<std::string>& assumptions) {
  if (service.engine.dynamic_fp8 && computes_in(service.precision, service.profile) == Precision::kFp8)
    assumptions.emplace_back(
        "fp8 inputs have dynamic scales: a kernel looks for the largest element before each product. A checkpoint with "
        "scales of its own saves that kernel, which is not modelled");
}

/// Most expert ranks of the tables that the laws of whole layers were fitted on.
constexpr int kMostExpertRanks = 8;

/// Says whose kernels time a layer of experts, where they are not the engine's own on this GPU and on as many ranks.
void assume_expert_layers(const Service& service, std::vector<std::string>& assumptions) {
  const std::string &engine = service.engine.experts, &gpu = service.cluster.gpu.name;
  const bool in_layers = service.precision != WeightPrecision::kMxfp4 && service.moe_backend == MoeBackend::kAuto;
  if (engine.empty() || !in_layers) return;
  const cost::FoundExperts found = expert_layers(service);
  if (found.laws == nullptr) {
    assumptions.push_back(
        fmt::format("experts in {} have the products of training, and every kernel beside them: no table of {} has "
                    "their whole layer",
                    name_of(service.precision), gpu));
    return;
  }
  int ranks = 1;
  for (const Pool& pool : pools_of(service)) ranks = std::max(ranks, pool.degrees.expert);
  const cost::Evidence& evidence = found.laws->of(ranks)->evidence;
  if (found.engine != engine)
    assumptions.push_back(
        fmt::format("layers of experts take the time of {}'s kernels: there is no law of {}'s", found.engine, engine));
  if (evidence.provenance == cost::Provenance::kScaled)
    assumptions.push_back(
        fmt::format("layers of experts have the law of {}: {}", evidence.scaled_from, evidence.source));
  if (ranks > 1 && !found.laws->spread)
    assumptions.push_back(
        fmt::format("layers of experts have the law of experts on each GPU: no table of {} has them spread by {}'s "
                    "kernels",
                    gpu, found.engine));
  if (ranks > kMostExpertRanks)
    assumptions.push_back(
        fmt::format("layers of experts have the law of at most {} expert ranks, found {}", kMostExpertRanks, ranks));
}

void assume_experts(const Service& service, std::vector<std::string>& assumptions) {
  if (service.precision == WeightPrecision::kNvfp4 && service.model.latent)
    assumptions.emplace_back("products of latent attention have weights of 16 bits, as NVIDIA's checkpoints in nvfp4");
  if (!service.model.experts) return;
  assume_expert_layers(service, assumptions);
  const cost::NarrowExpertsLaw* law = experts_law(service);
  if (service.precision == WeightPrecision::kMxfp4 && law == nullptr)
    assumptions.push_back(
        fmt::format("experts in mxfp4 compute in 16 bits and read fewer bytes: no table of {} has their kernels",
                    service.cluster.gpu.name));
  if (law != nullptr && service.moe_backend == MoeBackend::kMarlin)
    assumptions.push_back(
        fmt::format("experts by Marlin's kernels as vLLM runs them (moe.backend), by a law of other shapes: held-out "
                    "rows of its table are within {:.0f} % (median) and {:.0f} % (nine of ten)",
                    100 * law->evidence.median_error, 100 * law->evidence.p90_error));
  if (service.moe_backend == MoeBackend::kTriton)
    assumptions.push_back(
        fmt::format("experts by Triton's kernels (moe.backend): their host time and sorting are "
                    "numbers of engine {}; other models, GPUs and hosts take other times",
                    service.engine.name));
  const double shape = service.model.experts->popularity_shape;
  const std::vector<Pool> pools = pools_of(service);
  const bool spread = std::any_of(pools.begin(), pools.end(), [](const Pool& pool) { return pool.degrees.expert > 1; });
  if (shape > 0)
    assumptions.push_back(fmt::format("some experts are more popular than others (expert_popularity_shape {}){}", shape,
                                      spread && service.imbalance == 1
                                          ? ", and expert ranks still get equally many tokens: state moe.imbalance"
                                          : ""));
}

/// Returns the heads of decode attention on one GPU of the pool.
CacheAttention heads_of(const Pool& pool, const model::Transformer& model) {
  const std::int64_t tensor = pool.degrees.tensor;
  return {.heads = std::max<std::int64_t>(1, model.heads / tensor),
          .kv_heads = std::max<std::int64_t>(1, model.kv_heads / tensor),
          .head_dim = model.head_dim,
          .latent = model.latent.has_value()};
}

/// Says where the decode kernels of the engine have no law of their own, or none that was fitted on such heads.
void assume_decode(const Service& service, std::vector<std::string>& assumptions) {
  const std::string& engine = service.engine.decode_attention;
  if (!service.laws || engine.empty()) return;
  for (const Pool& pool : pools_of(service)) {
    if (service.model.latent) break;  // all heads share one vector
    const cost::DecodeKernels kernels = decode_kernels(heads_of(pool, service.model), service);
    if (!cost::is_beyond_engine_laws(*service.laws, kernels)) continue;
    assumptions.push_back(fmt::format(
        "attention over the cache takes the nearest law of {}'s kernels: none was fitted on heads of {} with {} "
        "for each key-value head",
        engine, kernels.head_dim, with_noun(kernels.shared, "query head")));
    return;
  }
  if (engine == service.laws->decode_kernels || service.laws->engine_decode.contains(engine)) return;
  assumptions.push_back(
      fmt::format("attention over the cache takes the time of {} kernels: no table of {} has those of {}",
                  service.laws->decode_kernels.empty() ? "other" : fmt::format("{}'s", service.laws->decode_kernels),
                  service.cluster.gpu.name, engine));
}

void assume_beams(const Service& service, std::vector<std::string>& assumptions) {
  const std::int64_t beams = service.requests.beam_width;
  if (!service.requests.searches_beams()) return;
  assumptions.push_back(
      fmt::format("beam search as FasterTransformer runs it: {} rows of the decoder for each request until the batch "
                  "ends, and the best answer of each counts",
                  beams));
}

void assume_all_reduces(const Service& service, std::vector<std::string>& assumptions) {
  std::map<int, cost::AllReduceKernels> others;  // by tensor degree
  for (const Pool& pool : pools_of(service)) {
    const int ranks = pool.degrees.tensor;
    const bool inside = ranks > 1 && ranks <= service.cluster.links.gpus;
    const cost::AllReduceKernels kernels = all_reduce_kernels(ranks, service);
    if (inside && kernels != service.engine.all_reduce) others[ranks] = kernels;
  }
  for (const auto& [ranks, kernels] : others)
    assumptions.push_back(fmt::format(
        "small all-reduces over {} GPUs take {} time: no table of {} has the engine's own kernels for as many", ranks,
        kernels == cost::AllReduceKernels::kNccl ? "NCCL's" : fmt::format("{}'s", name_of(kernels)),
        service.cluster.gpu.name));
}

}  // namespace

std::vector<std::string> assumptions_of(const Service& service) {
  std::vector<std::string> assumptions = service.notes.assumptions;
  assumptions.insert(assumptions.end(), service.engine.assumptions.begin(), service.engine.assumptions.end());
  assume_products_and_attention(service, assumptions);
  assume_engine_products(service, assumptions);
  assume_dynamic_fp8(service, assumptions);
  assume_experts(service, assumptions);
  assume_all_reduces(service, assumptions);
  assume_decode(service, assumptions);
  assume_beams(service, assumptions);
  return assumptions;
}

std::vector<std::string> warnings_of(const Service& service, const Prediction& prediction) {
  std::vector<std::string> warnings = service.notes.warnings;
  const std::int64_t positions = service.model.max_positions;
  const Requests& requests = service.requests;
  const bool halves = service.model.encoder_decoder.has_value();  // each with positions of its own
  const std::int64_t longest = halves ? std::max(requests.input_tokens, requests.output_tokens) : service.longest();
  if (!service.model.encoder && positions > 0 && longest > positions)
    warnings.push_back(
        fmt::format("Requests of {} tokens exceed the {} positions of {}: an engine refuses them unless "
                    "it is told to go on.",
                    longest, positions, service.model.name));
  if (prediction.fits && prediction.queue_grows)
    warnings.emplace_back(
        "The service does not keep up: its queue grows, so times depend on the number of requests. Try more GPUs or a "
        "lower rate.");
  return warnings;
}

Prediction predict(const Service& service, bool traces) { return Predictor(service).predict(traces); }

}  // namespace foretoken::serve
