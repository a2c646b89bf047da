// Writes a question about serving in words.
#include "sim/study/serve/service_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/report/text/number.h"

namespace foretoken::study {
namespace {

using serve::Service;

std::string speculation_words(const serve::Speculation& speculation) {
  std::string words = fmt::format("{} a pass, {} % accepted", report::counted(speculation.tokens, "drafted token"),
                                  report::plain(100 * speculation.acceptance, 3));
  if (speculation.draft_share > 0)
    words += fmt::format(", each {} of a pass", report::plain(speculation.draft_share, 3));
  return words;
}

std::string parallelism_words(const Service& service) {
  if (!service.disaggregated) return pool_words(service.pool);
  return fmt::format("prefill: {}; decode: {}", pool_words(service.disaggregated->prefill),
                     pool_words(service.disaggregated->decode));
}

bool has_attention_groups(const Service& service) {
  if (!service.disaggregated) return service.pool.degrees.attention_data > 1;
  return service.disaggregated->prefill.degrees.attention_data > 1 ||
         service.disaggregated->decode.degrees.attention_data > 1;
}

std::string batching_words(const Service& service) {
  if (service.batching == serve::Batching::kStatic) return "static";
  const serve::Engine& engine = service.engine;
  const bool by_group = engine.limits_each_group && has_attention_groups(service);
  return fmt::format("continuous: at most {} a pass and {} at once{}{}, {}",
                     report::counted(static_cast<double>(engine.token_budget), "token"),
                     report::counted(static_cast<double>(engine.max_sequences), "request"),
                     by_group ? " for each attention group" : "", engine.chunks_prompts ? "" : ", prompts whole",
                     name_of(engine.capacity_policy));
}

std::string precision_words(const Service& service) {
  const std::string weights(name_of(service.precision));
  if (service.model.encoder) return weights;  // it has no cache
  return fmt::format("weights {}, cache {}", weights, service.cache_precision);
}

std::string share_words(const Service& service) {
  const serve::Engine& engine = service.engine;
  std::string words = fmt::format("{} % of a GPU's", report::plain(100 * engine.memory_fraction, 3));
  if (service.batching == serve::Batching::kStatic) return words;
  words += fmt::format(", pages of {}", report::counted(engine.block_tokens, "token"));
  if (engine.watermark > 0) words += fmt::format(", {} % of them kept free", report::plain(100 * engine.watermark, 3));
  return words;
}

}  // namespace

std::string pool_words(const serve::Pool& pool) {
  const serve::Degrees& cut = pool.degrees;
  std::string words = fmt::format("tensor {}", cut.tensor);
  if (cut.pipeline > 1) words += fmt::format(" x pipeline {}", cut.pipeline);
  if (cut.attention_data > 1) words += fmt::format(" x attention data {}", cut.attention_data);
  if (cut.expert > 1) words += fmt::format(", expert {}", cut.expert);
  if (pool.instances() > 1) words += fmt::format(", {} instances", pool.instances());
  return words;
}

std::string lengths_words(const serve::Requests& requests) {
  std::string words;
  if (requests.kind == serve::ArrivalKind::kTrace)
    words = "lengths of the trace";
  else if (requests.output_tokens == 0)
    words = fmt::format("{} each", report::counted(real(requests.input_tokens), "token"));
  else
    words = fmt::format("{} in, {} out", report::counted(real(requests.input_tokens), "token"),
                        report::whole(real(requests.output_tokens)));
  if (requests.mean_output_tokens > 0)
    words += fmt::format(" at most and {} on average", report::whole(real(requests.mean_output_tokens)));
  if (requests.searches_beams()) words += fmt::format(", by {} beams", requests.beam_width);
  if (requests.padded_tokens > requests.input_tokens)
    words += fmt::format(", padded to {}", report::whole(real(requests.padded_tokens)));
  if (requests.length_spread > 0)
    words += fmt::format(", from {} % of that up", report::plain(100 * (1 - requests.length_spread), 3));
  if (requests.prefix_share > 0)
    words += fmt::format("; {} % of each prompt is a shared prefix", report::plain(100 * requests.prefix_share, 3));
  return words;
}

std::string arrivals_words(const serve::Requests& requests) {
  const std::string lengths = lengths_words(requests), all = report::counted(real(requests.count), "request");
  switch (requests.kind) {
    case serve::ArrivalKind::kBatch:
      return fmt::format("one batch of {}: {}", report::whole(real(requests.at_once)), lengths);
    case serve::ArrivalKind::kClosed:
      return fmt::format("{} by {} at once: {}", all, report::counted(real(requests.at_once), "user"), lengths);
    case serve::ArrivalKind::kPoisson:
      return fmt::format("{} at {} a second (Poisson): {}", all, report::plain(requests.rate_per_s, 6), lengths);
    case serve::ArrivalKind::kTrace:
      return fmt::format("{} of a trace: {}", all, lengths);
  }
  return "";
}

std::string service_limits_words(const serve::Limits& limits) {
  std::string words;
  const auto add = [&](const char* name, const std::optional<double>& limit) {
    if (limit) words += fmt::format("{}{} {}", words.empty() ? " " : " and ", name, report::time_text(Seconds(*limit)));
  };
  add("TTFT", limits.ttft_s);
  add("TPOT", limits.tpot_s);
  add("latency", limits.latency_s);
  return words;
}

namespace {

std::string experts_words(const Service& service) {
  std::vector<std::string> words;
  if (service.moe_backend != serve::MoeBackend::kAuto)
    words.push_back(fmt::format("{} kernels of experts", name_of(service.moe_backend)));
  if (service.imbalance > 1)
    words.push_back(fmt::format("hottest expert rank {} x the mean", report::plain(service.imbalance)));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string> special_words(const Service& service) {
  std::vector<std::string> words;
  if (service.cache_bytes != 2) words.push_back(fmt::format("cache in {}", service.cache_precision));
  if (service.speculation) words.push_back(speculation_words(*service.speculation));
  if (std::string experts = experts_words(service); !experts.empty()) words.push_back(std::move(experts));
  return words;
}

std::vector<std::pair<std::string, std::string>> question_rows(const Service& service) {
  std::vector<std::pair<std::string, std::string>> rows{
      {"model", service.model.name},
      {"cluster", fmt::format("{} of {} ({})", report::counted(service.gpus(), "GPU"), service.cluster.name,
                              service.cluster.gpu.name)},
      {"engine", service.engine.name},
      {"precision", precision_words(service)},
      {"parallelism", parallelism_words(service)},
      {"requests", arrivals_words(service.requests)},
      {"batching", batching_words(service)},
      {"memory", share_words(service)}};
  if (service.speculation) rows.emplace_back("speculation", speculation_words(*service.speculation));
  if (const std::string experts = experts_words(service); !experts.empty()) rows.emplace_back("experts", experts);
  if (service.limits.any()) rows.emplace_back("limits", service_limits_words(service.limits).substr(1));
  if (service.price_per_gpu_hour)
    rows.emplace_back("price", fmt::format("{} USD a GPU hour", report::plain(*service.price_per_gpu_hour)));
  return rows;
}

std::string room_words(const serve::Memory& memory, const serve::Pool& pool) {
  const int instances = pool.instances();
  const std::string one = fmt::format("or one of {}", report::counted(real(memory.max_context), "token"));
  if (instances == 1)
    return fmt::format("{} of these lengths at once, {}", report::counted(real(memory.max_batch), "request"), one);
  return fmt::format("{} of these lengths at once, {} an instance, {}",
                     report::counted(real(memory.max_batch * instances), "request"),
                     report::whole(real(memory.max_batch)), one);
}

std::string quantity_words(trust::Served quantity, double value) {
  return quantity == trust::Served::kThroughput ? fmt::format("{} tokens/s", report::significant(value))
                                                : report::time_text(Seconds(value));
}

std::string interval_words(trust::Served quantity, const trust::ServedInterval& interval) {
  return fmt::format("{} to {}", quantity_words(quantity, interval.low), quantity_words(quantity, interval.high));
}

std::string_view short_name(trust::Served quantity) {
  constexpr std::array<std::string_view, trust::kServed.size()> kNames{"TTFT", "TPOT", "latency", "throughput"};
  return kNames.at(static_cast<std::size_t>(quantity));
}

std::string nearest_words(const trust::ServedCase& nearest) {
  return fmt::format("{} {} measured, {} predicted ({})", short_name(nearest.quantity),
                     quantity_words(nearest.quantity, nearest.measured),
                     quantity_words(nearest.quantity, nearest.predicted), nearest.title);
}

std::vector<std::string> sources_of(const Service& service) {
  std::vector<std::string> lines = serve::assumptions_of(service);
  lines.insert(lines.end(), service.engine.notes.begin(), service.engine.notes.end());
  return lines;
}

}  // namespace foretoken::study
