// Checks a service whose parts were read.
#include "sim/io/serve/service_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/serve/kernels.h"
#include "sim/serve/pool_rules.h"
#include "sim/serve/predict.h"

namespace foretoken::io {
namespace {

using serve::Service;

void check_static(const Node& root, const Service& service) {
  if (service.batching != serve::Batching::kStatic) return;
  const bool generates = !service.model.encoder && !service.model.encoder_decoder;
  const char* const advice = !generates                  ? ""
                             : service.engine.continuous ? R"(; try "batching": "continuous")"
                                                         : R"(; try "engine": "vllm")";
  if (service.requests.kind != serve::ArrivalKind::kBatch)
    root.complain("requests", fmt::format("expected batch: a static batch starts all requests together{}", advice));
  if (service.requests.length_spread > 0)
    root.complain("requests", "expected length_spread 0: requests of a static batch have equal lengths");
  if (service.requests.prefix_share > 0)
    root.complain("requests", "expected prefix_share 0: a static batch keeps no prefixes");
  for (const char* const key : {"max_sequences", "chunked_prefill", "capacity_scheduler_policy"})
    if (root.has(key)) root.complain(key, fmt::format("expected none for static batching{}", advice));
  const Node memory = root.object_or_empty("memory");
  if (memory.has("watermark")) memory.complain("watermark", "expected none: a static batch keeps no pages free");
  if (memory.has("block_tokens"))
    memory.complain("block_tokens", "expected none: a static batch has its cache in one piece, without pages");
  if (service.disaggregated) root.complain("disaggregated", fmt::format("expected none for static batching{}", advice));
  if (service.speculation) root.complain("speculative", fmt::format("expected none for static batching{}", advice));
  if (service.pool.instances() > 1)
    root.complain("gpus", fmt::format("expected {}: one static batch runs on one copy of the model, found {}",
                                      service.pool.degrees.gpus(), service.pool.gpus));
}

std::string in_millions(double count) { return fmt::format("{:.0f} million", count * 1e-6); }

/// The clock of a run counts picoseconds, up to 106 days.
void check_length(const Node& root, const serve::Requests& requests) {
  constexpr double kDay = 86'400, kMostDays = 60;
  if (requests.kind != serve::ArrivalKind::kPoisson) return;
  const double days = real(requests.count) / requests.rate_per_s / kDay;
  if (days > kMostDays)
    root.child("requests")
        .complain("rate_per_s",
                  fmt::format("expected a run of at most {} days: {} requests at this rate take {:.0f}; state a "
                              "smaller requests.count",
                              kMostDays, requests.count, days));
}

/// A trace of a million requests, with 16 million passes, took 4.4 s and 152 MB (docs/contributor/performance.md).
void check_work(const Node& root, const serve::Service& service) {
  constexpr double kMostPasses = 5e7;
  const double passes = serve::most_passes(service);
  if (passes <= kMostPasses) return;
  const Node requests = root.child("requests");
  const bool traced = service.requests.kind == serve::ArrivalKind::kTrace;
  (requests.has("count") ? requests.child("count") : requests)
      .complain(fmt::format("expected at most {} passes, found {}; try {}", in_millions(kMostPasses),
                            in_millions(passes), traced ? "a part of the trace" : "fewer requests"));
}

/// Checks that the engine serves models of this kind.
void check_kind(const Node& root, const Service& service) {
  const serve::Engine& engine = service.engine;
  const std::string& model = service.model.name;
  if (service.model.encoder_decoder) {
    if (!engine.encoder_decoders)
      root.complain("engine", fmt::format("{} is an encoder-decoder, which engine {} does not serve; try "
                                          "fastertransformer-t5",
                                          model, engine.name));
    else if (service.batching == serve::Batching::kContinuous)
      root.complain("batching", fmt::format("expected static: {} is an encoder-decoder", model));
    return;
  }
  if (!service.model.encoder && !engine.encodes && !engine.decoders)
    root.complain("engine", fmt::format("engine {} serves encoder-decoders, and {} is a decoder; try fastertransformer",
                                        engine.name, model));
  if (service.model.encoder.has_value() == engine.encodes) return;
  root.complain("engine",
                engine.encodes
                    ? fmt::format("engine {} serves encoders, and {} generates tokens; try vllm", engine.name, model)
                    : fmt::format("{} is an encoder, which generates no tokens; try fastertransformer-bert", model));
}

/// Checks what only static batches have: beams, of encoder-decoders, and answers that end with the longest one.
void check_batch_alone(const Node& root, const Service& service) {
  const serve::Requests& asked = service.requests;
  const Node requests = root.child("requests");
  if (asked.searches_beams() && !service.model.encoder_decoder)
    requests.complain("beam_width", fmt::format("expected 1: {} is no encoder-decoder, and only these are served with "
                                                "beam search, found {}; try t5-base on fastertransformer-t5",
                                                service.model.name, asked.beam_width));
  if (asked.mean_output_tokens == 0) return;
  if (service.batching == serve::Batching::kContinuous) {
    requests.complain("mean_output_tokens",
                      "expected none for continuous batching, whose answers end one by one; try length_spread");
    return;
  }
  const std::int64_t least = asked.least_mean(asked.at_once);
  if (asked.mean_output_tokens < least)
    requests.complain("mean_output_tokens",
                      fmt::format("expected at least {}: one of {} answers has the {} of "
                                  "output_tokens, found {}",
                                  least, asked.at_once, asked.output_tokens, asked.mean_output_tokens));
}

void check_backend(const Node& root, const Service& service) {
  if (const auto reason = serve::why_no_backend(service.precision, service))
    root.object("moe").complain("backend", *reason);
}

}  // namespace

void check_pool(const Node& node, const Service& service, const serve::Pool& pool) {
  const Node degrees = node.child("parallelism");
  for (const serve::PoolFault& fault : serve::faults_of(service, pool))
    (fault.of_degree() ? degrees : node).complain(fault.key, fault.text);
}

void check_service(const Node& root, const Service& service) {
  check_kind(root, service);
  const std::int64_t longest = std::max(service.longest(), service.requests.padded_tokens);
  if (service.model.encoder && service.model.max_positions > 0 && longest > service.model.max_positions)
    root.complain("requests", fmt::format("expected at most {} tokens, the positions of {}, found {}",
                                          service.model.max_positions, service.model.name, longest));
  if (service.model.encoder && (service.limits.ttft_s || service.limits.tpot_s))
    root.complain("limits", fmt::format("expected latency_s alone: {} is an encoder, which has no tokens to time",
                                        service.model.name));
  if (const auto reason = serve::why_not(service.precision, service)) root.complain("precision", *reason);
  const serve::Engine& engine = service.engine;
  if (service.batching == serve::Batching::kContinuous && !engine.continuous)
    root.complain("batching", fmt::format("engine {} batches statically; expected static", engine.name));
  if (service.speculation && engine.token_budget < service.speculation->tokens + 1)
    root.complain("speculative", "expected fewer tokens than a pass may have");
  if (root.has("moe") && !service.model.experts)
    root.complain("moe", fmt::format("expected none: {} has no experts", service.model.name));
  check_backend(root, service);
  check_static(root, service);
  check_batch_alone(root, service);
  check_length(root, service.requests);
  if (root.findings().complaints.empty()) check_work(root, service);
}

}  // namespace foretoken::io
