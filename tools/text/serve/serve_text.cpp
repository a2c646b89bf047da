// Writes the answer of `foretoken serve` as one screen.
#include "tools/text/serve/serve_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "sim/report/text/number.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;

std::string heading(const serve::Service& service, const Paint& paint) {
  std::string text = paint.name(service.name);
  text += fmt::format("  {} on {} of {}, {} in {}\n", service.model.name, report::counted(service.gpus(), "GPU"),
                      service.cluster.name, service.engine.name, name_of(service.precision));
  if (service.disaggregated)
    text += fmt::format("  prefill: {}; decode: {}\n", pool_words(service.disaggregated->prefill),
                        pool_words(service.disaggregated->decode));
  else
    text += fmt::format("  {}\n", pool_words(service.pool));
  return text + fmt::format("  {}\n\n", arrivals_words(service.requests));
}

std::string times_text(const serve::Service& service, const serve::Prediction& prediction, const Paint& paint) {
  report::Table table({{"", report::Table::Align::kLeft}, {"mean"}, {"P50"}, {"P99"}});
  const auto add = [&](const char* name, const serve::Spread& spread) {
    table.add({name, report::time_text(Seconds(spread.mean)), report::time_text(Seconds(spread.p50)),
               report::time_text(Seconds(spread.p99))});
  };
  if (!service.model.encoder) add("time to first token", prediction.ttft);
  if (prediction.tpot) add("time per output token", *prediction.tpot);
  add("latency", prediction.latency);
  return table.text(paint) + '\n';
}

std::string rates_text(const serve::Service& service, const serve::Prediction& prediction) {
  const bool encodes = service.model.encoder.has_value();
  std::string text =
      encodes ? fmt::format("  Throughput  {:.4g} sequences/s, {:.4g} tokens/s\n", prediction.requests_per_s,
                            prediction.total_tokens_per_s)
              : fmt::format("  Throughput  {:.4g} output tokens/s, {:.4g} with prompts, {:.3g} requests/s\n",
                            prediction.output_tokens_per_s, prediction.total_tokens_per_s, prediction.requests_per_s);
  text += fmt::format("  Per GPU     {:.4g} {}tokens/s", prediction.tokens_per_s_per_gpu, encodes ? "" : "output ");
  if (prediction.cost_per_million_tokens)
    text += fmt::format("; {:.3g} USD a million", *prediction.cost_per_million_tokens);
  if (prediction.kwh_per_million_tokens)
    text += fmt::format("; {:.3g} kWh a million at full power", *prediction.kwh_per_million_tokens);
  text += '\n';
  if (prediction.goodput_requests_per_s) {
    text += fmt::format("  Goodput     {:.3g} requests/s ({:.0f} %) within{}\n", *prediction.goodput_requests_per_s,
                        100 * *prediction.goodput_requests_per_s / prediction.requests_per_s,
                        service_limits_words(service.limits));
  }
  text += fmt::format("  Load        {:.1f} requests in the system on average, at most {} running\n",
                      prediction.mean_in_system, prediction.peak_running);
  if (prediction.preemptions > 0)
    text += fmt::format("  Preempted   {} times: the cache was full\n", prediction.preemptions);
  return text;
}

/// Returns a quantity as the table above names it: "16.0 ms", "1,933 tokens/s".
std::string quantity_text(trust::Served quantity, double value) {
  return quantity == trust::Served::kThroughput ? fmt::format("{:.4g} tokens/s", value)
                                                : report::time_text(Seconds(value));
}

std::string_view short_name(trust::Served quantity) {
  constexpr std::array<std::string_view, trust::kServed.size()> kNames{"TTFT", "TPOT", "latency", "throughput"};
  return kNames.at(static_cast<std::size_t>(quantity));
}

/// Returns the lines that say how far the means may be trusted.
std::string trust_text(const study::ServiceTrust& trusted, bool queue_grows, const Paint& paint) {
  if (queue_grows) return "  90 %        unknown: the queue grows\n";
  if (trusted.nearest == nullptr || trusted.intervals.empty())
    return "  90 %        unknown: no published service is like this one\n";
  std::string ranges;
  for (const auto& [quantity, interval] : trusted.intervals) {
    ranges += fmt::format("{}{} {} to {} ({} values, {})", ranges.empty() ? "" : ", ", short_name(quantity),
                          quantity_text(quantity, interval.low), quantity_text(quantity, interval.high), interval.cases,
                          report::counted(interval.sets, "table"));
  }
  std::string text = paint.paragraph("  90 %        ", ranges);
  const trust::ServedInterval& founded = trusted.best_founded();
  if (founded.outside()) text += paint.paragraph("  Untried     ", fmt::format("{}", fmt::join(founded.away, ", ")));
  const trust::ServedCase& nearest = *trusted.nearest;
  return text + paint.paragraph("  Nearest     ", fmt::format("{}: {} {} measured, {} predicted", nearest.title,
                                                              short_name(nearest.quantity),
                                                              quantity_text(nearest.quantity, nearest.measured),
                                                              quantity_text(nearest.quantity, nearest.predicted)));
}

std::string memory_text(std::string_view name, const serve::Memory& memory, const Paint& paint) {
  const Bytes total = memory.fits() ? memory.peak() : memory.needed;
  std::string text = fmt::format("  {:<11} {} of {} a GPU: weights {}, cache {}, activations {}, other {}\n", name,
                                 report::decimal_bytes(total), report::decimal_bytes(memory.capacity),
                                 report::decimal_bytes(memory.weights), report::decimal_bytes(memory.cache),
                                 report::decimal_bytes(memory.activations), report::decimal_bytes(memory.overhead));
  text += fmt::format("  {:<11} {} requests of these lengths at once, or one of {} tokens\n", "Room for",
                      memory.max_batch, memory.max_context);
  if (memory.fits()) return text;
  return text + "  " +
         paint(Ink::kRed, fmt::format("It does not fit: {} {} too large for a GPU.", name_of(memory.limit),
                                      memory.limit == serve::MemoryLimit::kCache ? "is" : "are")) +
         '\n';
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
  if (requests.output_tokens == 0) return fmt::format("{} tokens each", requests.input_tokens);
  return fmt::format("{} tokens in, {} out", requests.input_tokens, requests.output_tokens);
}

std::string arrivals_words(const serve::Requests& requests) {
  const std::string lengths = lengths_words(requests);
  switch (requests.kind) {
    case serve::ArrivalKind::kBatch:
      return fmt::format("one batch of {}: {}", requests.at_once, lengths);
    case serve::ArrivalKind::kClosed:
      return fmt::format("{} requests by {} users at once: {}", requests.count, requests.at_once, lengths);
    case serve::ArrivalKind::kPoisson:
      return fmt::format("{} requests at {:g} a second (Poisson): {}", requests.count, requests.rate_per_s, lengths);
    case serve::ArrivalKind::kTrace:
      return fmt::format("{} requests of a trace", requests.count);
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

std::string serve_text(const serve::Service& service, const serve::Prediction& prediction,
                       const study::ServiceTrust& trusted, const Paint& paint) {
  std::string text = heading(service, paint);
  if (prediction.fits) {
    text += times_text(service, prediction, paint) + rates_text(service, prediction);
    text += trust_text(trusted, prediction.queue_grows, paint);
  }
  for (const std::string& warning : serve::warnings_of(service, prediction))
    text += paint.paragraph("  Warning     ", warning);
  if (prediction.memory.size() == 1) return text + memory_text("Memory", prediction.memory.front(), paint);
  text += memory_text("Prefill", prediction.memory.front(), paint);
  return text + memory_text("Decode", prediction.memory.back(), paint);
}

}  // namespace foretoken::tools
