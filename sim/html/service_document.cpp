// Shows times, rates and memory of a service, and its batch, queue and cache over time.
#include "sim/html/service_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/html/areas_over_time.h"
#include "sim/html/markup.h"
#include "sim/html/page.h"
#include "sim/report/text/number.h"
#include "sim/study/serve/service_words.h"

namespace foretoken::html {
namespace {

using serve::Prediction;
using serve::Service;

std::string time_cell(double seconds) { return report::time_text(Seconds(seconds)); }

std::string interval_cell(const ServiceReport& report, trust::Served quantity) {
  const auto found = report.trusted.intervals.find(quantity);
  return found == report.trusted.intervals.end() ? "unknown" : study::interval_words(quantity, found->second);
}

std::string times(const ServiceReport& report) {
  const Prediction& prediction = report.prediction;
  Table table({{"", false}, {"mean"}, {"P50"}, {"P99"}, {"90 % interval of the mean"}});
  const auto add = [&](const char* name, const serve::Spread& spread, trust::Served quantity) {
    table.add({Table::text(name), Table::number(spread.mean, time_cell(spread.mean)),
               Table::number(spread.p50, time_cell(spread.p50)), Table::number(spread.p99, time_cell(spread.p99)),
               Table::text(interval_cell(report, quantity))});
  };
  if (!report.service.model.encoder) add("time to first token", prediction.ttft, trust::Served::kTtft);
  if (prediction.tpot) add("time per output token", *prediction.tpot, trust::Served::kTpot);
  add("latency", prediction.latency, trust::Served::kLatency);
  return table.html();
}

// Says how far the means may be trusted.
std::string trust(const ServiceReport& report) {
  const study::ServiceTrust& trusted = report.trusted;
  if (trusted.why_no_interval) return paragraph(fmt::format("No interval is known: {}.", *trusted.why_no_interval));
  std::string html;
  const auto found = trusted.intervals.find(trust::Served::kThroughput);
  if (found != trusted.intervals.end())
    html += paragraph(fmt::format("90 % interval of the output tokens: {}.",
                                  study::interval_words(trust::Served::kThroughput, found->second)));
  const trust::ServedInterval& founded = trusted.best_founded();
  if (founded.outside()) html += paragraph(fmt::format("Untried: {}.", fmt::join(founded.away, ", ")));
  return html + paragraph(fmt::format("Nearest published service: {}.", study::nearest_words(*trusted.nearest)));
}

std::string question(const ServiceReport& report) {
  std::string html = "<table class=\"facts\"><tbody>\n";
  for (const auto& [label, words] : study::question_rows(report.service))
    html += "<tr><th scope=\"row\">" + escaped(label) + "</th><td>" + escaped(words) + "</td></tr>\n";
  return html + "</tbody></table>\n";
}

std::string answer(const ServiceReport& report) {
  const Prediction& prediction = report.prediction;
  if (!prediction.fits)
    return paragraph(
        "The service does not fit into the memory of its GPUs. `foretoken serve --search` finds "
        "configurations that fit.");
  const bool encodes = report.service.model.encoder.has_value();
  const char* const tokens = encodes ? "tokens" : "output tokens";
  const double rate = encodes ? prediction.total_tokens_per_s : prediction.output_tokens_per_s;
  std::string html = paragraph(fmt::format(
      "{} on {} of {} with {} gives {} {}/s, {} a GPU, at {} requests/s.", report.service.model.name,
      report::counted(report.service.gpus(), report.service.cluster.gpu.name + " GPU"), report.service.cluster.name,
      report.service.engine.name, report::significant(rate), tokens,
      report::significant(prediction.tokens_per_s_per_gpu), report::significant(prediction.requests_per_s, 3)));
  html += times(report) + trust(report);
  if (prediction.goodput_requests_per_s)
    html += paragraph(fmt::format("{} of the requests are within the stated limits.",
                                  report::percent(*prediction.goodput_requests_per_s / prediction.requests_per_s)));
  if (prediction.cost_per_million_tokens)
    html += paragraph(
        fmt::format("A million {} cost {} USD.", tokens, report::significant(*prediction.cost_per_million_tokens, 3)));
  if (prediction.kwh_per_million_tokens)
    html += paragraph(fmt::format("With every GPU at the limit of its power, a million {} take {} kWh.", tokens,
                                  report::significant(*prediction.kwh_per_million_tokens, 3)));
  return html;
}

std::string pool_name(const ServiceReport& report, std::size_t pool) {
  if (!report.service.disaggregated) return "GPU";
  return pool == 0 ? "GPU of prompts" : "GPU of decoding";
}

std::string memory(const ServiceReport& report) {
  Table table({{"", false},
               {"weights"},
               {"cache"},
               {"activations"},
               {"other"},
               {"of"},
               {"instances"},
               {"requests at once"},
               {"longest"}});
  const std::vector<serve::Pool> pools = serve::pools_of(report.service);
  for (std::size_t pool = 0; pool < report.prediction.memory.size(); ++pool) {
    const serve::Memory& m = report.prediction.memory[pool];
    const int instances = pools[pool].instances();
    const double requests = real(m.max_batch * instances);
    const auto gib = [](Bytes bytes) { return Table::number(bytes.value(), report::gib(bytes) + " GiB"); };
    table.add({Table::text(pool_name(report, pool)), gib(m.weights), gib(m.cache), gib(m.activations), gib(m.overhead),
               gib(m.capacity), Table::number(instances, std::to_string(instances)),
               Table::number(requests, report::whole(requests)),
               Table::number(real(m.max_context), report::whole(real(m.max_context)) + " tokens")});
  }
  return table.html() + paragraph(
                            "Requests at once have the stated lengths, over all instances; longest is one request "
                            "alone.");
}

/// The loads of one instance in each bin: those of the pass with the most requests, and the most pages.
struct InstanceLoads {
  std::vector<double> decoding, prefilling, waiting, pages;
};

InstanceLoads loads_of(const ServiceReport& report, int instance) {
  InstanceLoads loads;
  for (std::vector<double>* const row : {&loads.decoding, &loads.prefilling, &loads.waiting, &loads.pages})
    row->assign(kTimeBins, 0.0);
  const std::vector<serve::TracedPass>& passes = report.prediction.traced;
  const double begin = static_cast<double>(passes.front().load.at.ps);
  const double length = std::max(report.prediction.makespan_s * 1e12, 1.0);
  const auto bin_of = [&](des::Instant at) {
    const double part = (static_cast<double>(at.ps) - begin) / length;
    return std::min(static_cast<std::size_t>(std::max(part, 0.0) * kTimeBins), kTimeBins - 1);
  };
  for (const serve::TracedPass& pass : passes) {
    if (pass.instance != instance) continue;
    const serve::Load& load = pass.load;
    for (std::size_t bin = bin_of(load.at); bin <= bin_of(load.end); ++bin) {
      const double decoding = real(std::min(load.decoding, load.running));
      const double prefilling = real(load.running) - decoding, waiting = real(load.waiting);
      if (real(load.running) + waiting >= loads.decoding[bin] + loads.prefilling[bin] + loads.waiting[bin]) {
        loads.decoding[bin] = decoding;
        loads.prefilling[bin] = prefilling;
        loads.waiting[bin] = waiting;
      }
      loads.pages[bin] = std::max(loads.pages[bin], real(load.used_pages));
    }
  }
  return loads;
}

double highest(const std::vector<double>& a, const std::vector<double>& b = {}, const std::vector<double>& c = {}) {
  double most = 1;
  for (std::size_t bin = 0; bin < a.size(); ++bin)
    most = std::max(most, a[bin] + (b.empty() ? 0 : b[bin]) + (c.empty() ? 0 : c[bin]));
  return most * 1.05;
}

std::string figures_of(const ServiceReport& report, int instance, const std::string& title) {
  InstanceLoads loads = loads_of(report, instance);
  const double requests = highest(loads.decoding, loads.prefilling, loads.waiting);
  const double seconds = report.prediction.makespan_s;
  std::string html = legend(
      {{{"c-forward"}, "decoding"}, {{"c-backward"}, "in a prompt, or between passes"}, {{"c-other"}, "waiting"}});
  html += areas_over_time({.title = "Requests of " + title,
                           .areas = {{"decoding", "c-forward", std::move(loads.decoding)},
                                     {"in a prompt, or between passes", "c-backward", std::move(loads.prefilling)},
                                     {"waiting", "c-other", std::move(loads.waiting)}},
                           .seconds = seconds,
                           .high = requests});
  const bool paged = report.service.batching == serve::Batching::kContinuous;
  if (!paged) return html;
  const serve::Memory& memory =
      report.service.disaggregated && instance >= report.service.disaggregated->prefill.instances()
          ? report.prediction.memory.back()
          : report.prediction.memory.front();
  html +=
      legend({{{"c-activations"}, fmt::format("pages of the cache in use, of {}", report::whole(real(memory.pages)))}});
  const double pages = highest(loads.pages);
  return html + areas_over_time({.title = "Cache of " + title,
                                 .areas = {{"pages in use", "c-activations", std::move(loads.pages)}},
                                 .seconds = seconds,
                                 .high = pages});
}

// One instance stands for its pool: the router deals requests out evenly.
std::string over_time(const ServiceReport& report) {
  if (report.prediction.traced.empty()) return "";
  if (!report.service.disaggregated) {
    const bool several = report.service.pool.instances() > 1;
    return figures_of(report, 0, several ? "the first instance" : "the service");
  }
  return figures_of(report, 0, "the first instance for prompts") +
         figures_of(report, report.service.disaggregated->prefill.instances(), "the first instance for decoding");
}

std::string assumptions(const ServiceReport& report) {
  Table table({{"assumption and source", false}});
  for (const std::string& line : study::sources_of(report.service)) table.add({Table::text(line)});
  std::string html;
  for (const std::string& warning : serve::warnings_of(report.service, report.prediction))
    html += paragraph("Warning: " + warning);
  return html + table.html();
}

std::string reproduction(const ServiceReport& report) {
  return fmt::format("<p>foretoken {} wrote this file with</p>\n<pre><code>{}</code></pre>\n", escaped(report.version),
                     escaped(report.command));
}

}  // namespace

std::string service_document(const ServiceReport& report) {
  Page whole{.title = report.service.name,
             .kind = "predicted service",
             .evidence = "",
             .version = report.version,
             .date = report.date,
             .contents = {},
             .sections = {}};
  add_section(whole, "verdict", "Answer", answer(report));
  add_section(whole, "question", "Question", question(report));
  add_section(whole, "load", "Batch, queue and cache over time", over_time(report));
  add_section(whole, "memory", "Memory of a GPU", memory(report));
  add_section(whole, "assumptions", "Assumptions and sources", assumptions(report));
  add_section(whole, "reproduce", "Reproduction", reproduction(report));
  return page(whole);
}

}  // namespace foretoken::html
