#include "sim/study/serve/served_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "sim/model/counts/parameters.h"

namespace foretoken::study {
namespace {

std::string arrivals_of(serve::ArrivalKind kind) {
  switch (kind) {
    case serve::ArrivalKind::kBatch:
      return "batch";
    case serve::ArrivalKind::kClosed:
      return "users";
    case serve::ArrivalKind::kPoisson:
      return "poisson";
    case serve::ArrivalKind::kTrace:
      return "trace";
  }
  return "";
}

/// fp16 and bf16 take as long.
std::string width_words(std::string_view precision) {
  return precision == "fp16" || precision == "bf16" ? "16 bits" : std::string(precision);
}

double load_of(const serve::Requests& requests) {
  if (requests.kind == serve::ArrivalKind::kPoisson) return requests.rate_per_s;
  if (requests.kind != serve::ArrivalKind::kTrace) return real(requests.at_once);
  const double span = requests.trace.back().arrival_s - requests.trace.front().arrival_s;
  return span > 0 ? real(std::ssize(requests.trace) - 1) / span : 1;
}

/// Returns the mean number of tokens of a request.
double mean_tokens(const serve::Requests& requests, std::int64_t serve::Requests::*stated,
                   std::int64_t serve::TracedRequest::*traced) {
  if (requests.kind != serve::ArrivalKind::kTrace) return std::max(1.0, real(requests.*stated));
  double sum = 0;
  for (const serve::TracedRequest& request : requests.trace) sum += real(request.*traced);
  return std::max(1.0, sum / real(std::ssize(requests.trace)));
}

/// Returns the output tokens a second that are asked for; infinity where each request waits for an answer.
double most_throughput(const serve::Service& service) {
  const serve::Requests& requests = service.requests;
  if (requests.kind != serve::ArrivalKind::kPoisson) return std::numeric_limits<double>::infinity();
  return requests.rate_per_s * real(requests.output_tokens);
}

std::string kernels_of(const serve::Service& service) {
  if (service.moe_backend != serve::MoeBackend::kAuto) return std::string(name_of(service.moe_backend));
  if (service.precision == serve::WeightPrecision::kW8a8) return fmt::format("int8 mode {}", service.engine.int8_mode);
  return trust::ServedPlace{}.kernels;
}

}  // namespace

trust::ServedPlace place_of(const serve::Service& service) {
  const serve::Pool& pool = service.disaggregated ? service.disaggregated->prefill : service.pool;
  const serve::Degrees& cut = pool.degrees;
  return {
      .model = service.model.name,
      .layers = service.model.experts ? "experts" : "dense",
      .engine = service.engine.name,
      .gpu = service.cluster.gpu.name,
      .arrivals = arrivals_of(service.requests.kind),
      .batching = service.batching == serve::Batching::kStatic ? "static" : "continuous",
      .weights = width_words(name_of(service.precision)),
      .cache = width_words(service.cache_precision),
      .kernels = kernels_of(service),
      .pools = service.disaggregated ? "two" : "one",
      .draft = service.speculation ? "on" : "none",
      .parameters = model::total_parameters(service.model),
      .tensor = real(cut.tensor),
      .pipeline = real(cut.pipeline),
      .expert = real(cut.expert),
      .attention_data = real(cut.attention_data),
      .instances = real(pool.instances()),
      .input = mean_tokens(service.requests, &serve::Requests::input_tokens, &serve::TracedRequest::input_tokens),
      .output = mean_tokens(service.requests, &serve::Requests::output_tokens, &serve::TracedRequest::output_tokens),
      .beams = real(service.requests.beam_width),
      .load = load_of(service.requests)};
}

std::optional<double> predicted(const serve::Prediction& prediction, trust::Served quantity) {
  switch (quantity) {
    case trust::Served::kTtft:
      return prediction.ttft.mean;
    case trust::Served::kTpot:
      return prediction.tpot ? std::optional(prediction.tpot->mean) : std::nullopt;
    case trust::Served::kLatency:
      return prediction.latency.mean;
    case trust::Served::kThroughput:
      return prediction.output_tokens_per_s;
  }
  return std::nullopt;
}

const trust::ServedInterval& ServiceTrust::best_founded() const {
  return std::ranges::min_element(intervals, {}, [](const auto& one) { return one.second.distance; })->second;
}

ServiceTrust trust_of(const serve::Service& service, const serve::Prediction& prediction,
                      const trust::ServedEvidence& evidence) {
  const trust::ServedPlace place = place_of(service);
  ServiceTrust trusted{.nearest = trust::nearest_case(place, evidence)};
  if (prediction.queue_grows) trusted.why_no_interval = "the queue grows";  // times depend on the number of requests
  if (service.engine.no_interval) trusted.why_no_interval = service.engine.no_interval;
  if (trusted.why_no_interval) return trusted;
  for (const trust::Served quantity : trust::kServed) {
    const auto value = predicted(prediction, quantity);
    const bool means_nothing = service.model.encoder && quantity != trust::Served::kLatency;
    if (!value || *value <= 0 || means_nothing) continue;
    auto interval = trust::served_interval(place, quantity, *value, evidence);
    if (!interval) continue;
    if (quantity == trust::Served::kThroughput) interval->high = std::min(interval->high, most_throughput(service));
    interval->high = std::max(interval->high, *value);
    trusted.intervals.emplace(quantity, *std::move(interval));
  }
  if (trusted.intervals.empty()) trusted.why_no_interval = "no published service is like this one";
  return trusted;
}

}  // namespace foretoken::study
