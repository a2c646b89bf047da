// Writes the answer of `foretoken serve`: one screen, or everything.
#include "tools/text/serve/serve_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/study/serve/service_words.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using study::ServiceTrust;

constexpr std::size_t kLabel = 12;  // columns of "Throughput  "

std::string labelled(std::string_view label, std::string_view words, const Paint& paint) {
  return paint.paragraph("  " + report::pad_right(label, kLabel), words);
}

/// Writes one line, cut to the screen.
std::string cut_line(std::string_view label, std::string_view words) {
  return "  " + report::pad_right(label, kLabel) + report::one_line(words, report::kScreenColumns - 2 - kLabel) + '\n';
}

std::string heading(const serve::Service& service, const Paint& paint) {
  std::string text = paint(Ink::kBold, report::one_line(service.name, paint.columns())) + '\n';
  const std::string machines =
      fmt::format("{} on {} of {}, {} in {}", service.model.name, report::counted(service.gpus(), "GPU"),
                  service.cluster.name, service.engine.name, name_of(service.precision));
  text += "  " + report::one_line(machines, paint.columns() - 2) + '\n';
  std::vector<std::string> words{service.disaggregated ? fmt::format("prefill: {}; decode: {}",
                                                                     study::pool_words(service.disaggregated->prefill),
                                                                     study::pool_words(service.disaggregated->decode))
                                                       : study::pool_words(service.pool)};
  for (std::string& special : study::special_words(service)) words.push_back(std::move(special));
  text += paint.paragraph("  ", fmt::format("{}", fmt::join(words, "; ")));
  return text + paint.paragraph("  ", study::arrivals_words(service.requests)) + '\n';
}

std::string interval_cell(const ServiceTrust& trusted, trust::Served quantity) {
  const auto found = trusted.intervals.find(quantity);
  return found == trusted.intervals.end() ? "" : study::interval_words(quantity, found->second);
}

std::string times_text(const serve::Service& service, const serve::Prediction& prediction, const ServiceTrust& trusted,
                       const Paint& paint) {
  std::vector<report::Table::Column> columns{{"", report::Table::Align::kLeft}, {"mean"}, {"P50"}, {"P99"}};
  const bool intervals = !trusted.intervals.empty();
  if (intervals) columns.push_back({"90 % of the mean"});
  report::Table table(columns);
  const auto add = [&](const char* name, const serve::Spread& spread, trust::Served quantity) {
    std::vector<std::string> cells{name, report::time_text(Seconds(spread.mean)),
                                   report::time_text(Seconds(spread.p50)), report::time_text(Seconds(spread.p99))};
    if (intervals) cells.push_back(interval_cell(trusted, quantity));
    table.add(std::move(cells));
  };
  if (!service.model.encoder) add("time to first token", prediction.ttft, trust::Served::kTtft);
  if (prediction.tpot) add("time per output token", *prediction.tpot, trust::Served::kTpot);
  add("latency", prediction.latency, trust::Served::kLatency);
  return table.text(paint) + '\n';
}

std::string throughput_words(const serve::Service& service, const serve::Prediction& prediction,
                             const ServiceTrust& trusted) {
  if (service.model.encoder)
    return fmt::format("{} sequences/s, {} tokens/s", report::significant(prediction.requests_per_s),
                       report::significant(prediction.total_tokens_per_s));
  const auto found = trusted.intervals.find(trust::Served::kThroughput);
  const std::string within = found == trusted.intervals.end()
                                 ? ""
                                 : fmt::format(" (90 %: {} to {})", report::significant(found->second.low),
                                               report::significant(found->second.high));
  return fmt::format("{} output tokens/s{}, {} requests/s", report::significant(prediction.output_tokens_per_s), within,
                     report::significant(prediction.requests_per_s, 3));
}

/// Returns true when requests are dealt out to several instances.
bool has_several_instances(const serve::Service& service) {
  if (!service.disaggregated) return service.pool.instances() > 1;
  return service.disaggregated->prefill.instances() > 1 || service.disaggregated->decode.instances() > 1;
}

std::string rates_text(const serve::Service& service, const serve::Prediction& prediction, const ServiceTrust& trusted,
                       const Paint& paint) {
  const bool encodes = service.model.encoder.has_value();
  std::string text = labelled("Throughput", throughput_words(service, prediction, trusted), paint);
  std::string each =
      fmt::format("{} {}tokens/s", report::significant(prediction.tokens_per_s_per_gpu), encodes ? "" : "output ");
  if (prediction.cost_per_million_tokens)
    each += fmt::format("; {} USD a million", report::significant(*prediction.cost_per_million_tokens, 3));
  if (prediction.kwh_per_million_tokens)
    each += fmt::format("; {} kWh a million at full power", report::significant(*prediction.kwh_per_million_tokens, 3));
  text += labelled("Per GPU", each, paint);
  if (prediction.goodput_requests_per_s)
    text += labelled(
        "Goodput",
        fmt::format("{} requests/s ({:.0f} %) within{}", report::significant(*prediction.goodput_requests_per_s, 3),
                    100 * *prediction.goodput_requests_per_s / prediction.requests_per_s,
                    study::service_limits_words(service.limits)),
        paint);
  text += labelled(
      "Load",
      fmt::format("{} requests in the system on average, at most {} running{}",
                  report::significant(prediction.mean_in_system, 3), report::whole(real(prediction.peak_running)),
                  has_several_instances(service) ? " in one instance" : ""),
      paint);
  if (prediction.preemptions > 0)
    text +=
        labelled("Preempted",
                 fmt::format("{}: the cache was full", report::counted(real(prediction.preemptions), "time")), paint);
  return text;
}

/// Says on two lines how far the means may be trusted.
std::string short_trust_text(const ServiceTrust& trusted, const Paint& paint) {
  if (trusted.why_no_interval) return labelled("90 %", "unknown: " + *trusted.why_no_interval, paint);
  const trust::ServedInterval& founded = trusted.best_founded();
  std::string text;
  if (founded.outside()) text += cut_line("Untried", fmt::format("{}", fmt::join(founded.away, ", ")));
  return text + cut_line("Nearest", study::nearest_words(*trusted.nearest));
}

std::string total_words(const serve::Memory& memory) {
  const Bytes total = memory.fits() ? memory.peak() : memory.needed;
  return fmt::format("{} of {} a GPU", report::decimal_bytes(total), report::decimal_bytes(memory.capacity));
}

std::string too_large(const serve::Memory& memory, const Paint& paint) {
  if (memory.fits()) return "";
  return "  " +
         paint(Ink::kRed, fmt::format("It does not fit: {} {} too large for a GPU.", name_of(memory.limit),
                                      memory.limit == serve::MemoryLimit::kCache ? "is" : "are")) +
         '\n';
}

/// A pool, the name of its line, and its memory.
struct ShownPool {
  std::string_view name;
  const serve::Pool* pool;
  const serve::Memory* memory;
  bool has_cache = true;  ///< an encoder has none
};

std::vector<ShownPool> shown_pools(const serve::Service& service, const serve::Prediction& prediction) {
  if (!service.disaggregated) return {{"Memory", &service.pool, &prediction.memory.front(), !service.model.encoder}};
  return {{"Prefill", &service.disaggregated->prefill, &prediction.memory.front()},
          {"Decode", &service.disaggregated->decode, &prediction.memory.back()}};
}

/// Writes the memory of a pool. A pool that fits beside another has one line.
std::string short_memory_text(const ShownPool& shown, bool alone, const Paint& paint) {
  const serve::Memory& memory = *shown.memory;
  const std::string room = study::room_words(memory, *shown.pool);
  const std::string parts = shown.has_cache ? fmt::format("cache {}", report::decimal_bytes(memory.cache))
                                            : fmt::format("activations {}", report::decimal_bytes(memory.activations));
  if (!alone && memory.fits()) return cut_line(shown.name, fmt::format("{}; room for {}", total_words(memory), room));
  return cut_line(shown.name, fmt::format("{}: weights {}, {}", total_words(memory),
                                          report::decimal_bytes(memory.weights), parts)) +
         cut_line("Room for", room) + too_large(memory, paint);
}

std::string memory_text(const ShownPool& shown, const Paint& paint) {
  const serve::Memory& memory = *shown.memory;
  const std::string cache =
      shown.has_cache ? fmt::format(" cache {},", report::decimal_bytes(memory.cache)) : std::string();
  return labelled(shown.name,
                  fmt::format("{}: weights {},{} activations {}, other {}", total_words(memory),
                              report::decimal_bytes(memory.weights), cache, report::decimal_bytes(memory.activations),
                              report::decimal_bytes(memory.overhead)),
                  paint) +
         labelled("Room for", study::room_words(memory, *shown.pool), paint) + too_large(memory, paint);
}

std::size_t lines_in(std::string_view text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

/// Writes warnings whole and assumptions in what is left of the screen. Where there is no room for that, each has a
/// line.
std::string remarks_text(const ServeAnswer& answer, std::size_t left, const Paint& screen) {
  std::vector<std::string> warnings = serve::warnings_of(answer.service, answer.prediction), assumed;
  for (const std::string& line : serve::assumptions_of(answer.service)) assumed.push_back("assumed: " + line);
  std::string whole;
  for (std::string& warning : warnings) {
    warning.insert(0, "warning: ");
    whole += screen.paragraph("  ", warning);
  }
  if (lines_in(whole) + (assumed.empty() ? 0 : 1) <= left)
    return assumed.empty() ? whole : whole + report::remarks_text(assumed, left - lines_in(whole), screen);
  warnings.insert(warnings.end(), assumed.begin(), assumed.end());
  return report::remarks_text(warnings, left, screen);
}

std::string summary(const ServeAnswer& answer, const ServeRemarks& remarks, const Paint& paint) {
  const auto& [service, prediction, trusted] = answer;
  const Paint screen(paint.colour(), report::kScreenColumns);
  std::string text = heading(service, screen);
  if (prediction.fits)
    text += times_text(service, prediction, trusted, screen) + rates_text(service, prediction, trusted, screen) +
            short_trust_text(trusted, screen);
  const std::vector<ShownPool> pools = shown_pools(service, prediction);
  for (const ShownPool& shown : pools) text += short_memory_text(shown, pools.size() == 1, screen);
  std::string below = remarks.hints.empty() ? "" : '\n' + report::hints_text(remarks.hints, screen);
  if (lines_in(text + below) >= report::kSummaryLines && !remarks.hints.empty())
    below = report::hints_text({remarks.hints.back()}, screen);
  const std::size_t used = lines_in(text + below);
  return text + remarks_text(answer, used < report::kSummaryLines ? report::kSummaryLines - used : 1, screen) + below;
}

/// Writes the intervals with the values that they follow from.
std::string trust_text(const ServiceTrust& trusted, const Paint& paint) {
  if (trusted.why_no_interval) return labelled("90 %", "unknown: " + *trusted.why_no_interval, paint);
  std::vector<std::string> ranges;
  for (const auto& [quantity, interval] : trusted.intervals)
    ranges.push_back(fmt::format("{} {} ({}, {})", study::short_name(quantity),
                                 study::interval_words(quantity, interval), report::counted(interval.cases, "value"),
                                 report::counted(interval.sets, "table")));
  std::string text = labelled("90 %", fmt::format("{}", fmt::join(ranges, ", ")), paint);
  const trust::ServedInterval& founded = trusted.best_founded();
  if (founded.outside()) text += labelled("Untried", fmt::format("{}", fmt::join(founded.away, ", ")), paint);
  return text + labelled("Nearest", study::nearest_words(*trusted.nearest), paint);
}

std::string counts_text(const serve::Service& service, const serve::Prediction& prediction, const Paint& paint) {
  const std::string run = fmt::format("{} in {}: {}", report::counted(real(prediction.requests), "request"),
                                      report::time_text(Seconds(prediction.makespan_s)),
                                      report::counted(real(prediction.passes), "pass", "passes"));
  if (service.model.encoder)
    return labelled("Run", run, paint);  // it has no cache, and its tokens are those of prompts
  return labelled("All tokens",
                  fmt::format("{} tokens/s with prompts", report::significant(prediction.total_tokens_per_s)), paint) +
         labelled("Run", fmt::format("{}, at most {} of the cache", run, report::percent(prediction.peak_cache_share)),
                  paint);
}

std::string everything(const ServeAnswer& answer, const Paint& paint) {
  const auto& [service, prediction, trusted] = answer;
  std::string text = paint.name(service.name);
  for (const auto& [label, words] : study::question_rows(service)) text += labelled(label, words, paint);
  text += '\n';
  if (prediction.fits)
    text += times_text(service, prediction, {}, paint) + rates_text(service, prediction, {}, paint) +
            counts_text(service, prediction, paint) + trust_text(trusted, paint);
  for (const ShownPool& shown : shown_pools(service, prediction)) text += memory_text(shown, paint);
  for (const std::string& warning : serve::warnings_of(service, prediction))
    text += labelled("Warning", warning, paint);
  text += report::title_text("Assumptions and sources", "", paint);
  for (const std::string& line : study::sources_of(service)) text += paint.paragraph("  - ", line);
  return text;
}

}  // namespace

std::string serve_text(const ServeAnswer& answer, const ServeRemarks& remarks, const Paint& paint) {
  return remarks.details ? everything(answer, paint) : summary(answer, remarks, paint);
}

}  // namespace foretoken::tools
