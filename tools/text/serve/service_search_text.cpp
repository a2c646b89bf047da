// Writes the answer of a search of services as text.
#include "tools/text/serve/service_search_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/io/export/serve/launch_service.h"
#include "sim/report/scatter.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/study/serve/service_words.h"
#include "tools/options/command_line.h"
#include "tools/text/serve/serve_text.h"

namespace foretoken::tools {
namespace {

using report::Paint;
using report::Table;
using study::ServedConfiguration;

constexpr double kNear = 0.1;  // errors of TPOT in engines' published rows: 3 to 10 % (docs/modeller/serving.md)

bool is_static(const ServiceSearchAnswer& answer) { return answer.service.batching == serve::Batching::kStatic; }

/// "2 x TP4 PP2": instances with their degrees, as engines abbreviate them.
std::string short_words(const serve::Pool& pool) {
  const serve::Degrees& cut = pool.degrees;
  std::string words = fmt::format("{} x TP{}", pool.instances(), cut.tensor);
  if (cut.pipeline > 1) words += fmt::format(" PP{}", cut.pipeline);
  if (cut.attention_data > 1) words += fmt::format(" DP{}", cut.attention_data);
  if (cut.expert > 1) words += fmt::format(" EP{}", cut.expert);
  return words;
}

std::string short_words(const study::ServiceLayout& layout) {
  if (!layout.disaggregated) return short_words(layout.pool);
  return fmt::format("{} prefill, {} decode", short_words(layout.disaggregated->prefill),
                     short_words(layout.disaggregated->decode));
}

std::string layout_words(const study::ServiceLayout& layout) {
  if (!layout.disaggregated) return study::pool_words(layout.pool);
  const serve::Pool &prefill = layout.disaggregated->prefill, &decode = layout.disaggregated->decode;
  return fmt::format("prefill on {} ({}), decode on {} ({})", report::counted(prefill.gpus, "GPU"),
                     study::pool_words(prefill), report::counted(decode.gpus, "GPU"), study::pool_words(decode));
}

bool several_precisions(const ServiceSearchAnswer& answer) {
  return std::any_of(answer.search.fitting.begin(), answer.search.fitting.end(), [&](const ServedConfiguration& found) {
    return found.layout.precision != answer.search.fitting.front().layout.precision;
  });
}

std::string time_of(double seconds) { return report::time_text(Seconds(seconds)); }

/// Returns the 90 % interval of the output tokens a second and GPU: "388 to 731".
std::string throughput_range(const ServiceSearchAnswer& answer, const ServedConfiguration& found) {
  const study::ServiceTrust trusted = trust_of(answer, found);
  const auto interval = trusted.intervals.find(trust::Served::kThroughput);
  if (interval == trusted.intervals.end()) return "-";
  return fmt::format("{} to {}", report::significant(interval->second.low / found.layout.gpus(), 3),
                     report::significant(interval->second.high / found.layout.gpus(), 3));
}

/// The table of some configurations.
std::string table_text(const ServiceSearchAnswer& answer, const std::vector<std::size_t>& rows, std::size_t most,
                       bool ranks, const Paint& paint) {
  const bool generates = !answer.service.model.encoder;
  const bool intervals = !ranks && generates;  // of the front and the nearest miss; none is of an encoder's throughput
  const auto kind = answer.service.requests.kind;
  const bool loads = kind == serve::ArrivalKind::kBatch || kind == serve::ArrivalKind::kClosed;
  std::vector<Table::Column> columns;
  if (ranks) columns.push_back({"rank"});
  columns.push_back({"GPUs"});
  columns.push_back({"precision", Table::Align::kLeft, several_precisions(answer) ? 0 : 4});
  if (loads) columns.push_back({kind == serve::ArrivalKind::kBatch ? "batch" : "users"});
  if (!is_static(answer)) columns.push_back({"chunk", Table::Align::kRight, 1});
  columns.push_back({"tokens/s/GPU"});
  if (intervals) columns.push_back({"90 %", Table::Align::kRight, 2});
  if (generates) {
    columns.push_back({"TTFT", Table::Align::kRight, is_static(answer) ? 1 : 0});
    columns.push_back({"TPOT"});
  }
  columns.push_back({"latency", Table::Align::kRight, is_static(answer) ? 0 : 3});
  columns.push_back({"layout", Table::Align::kLeft});
  Table table(columns);
  for (std::size_t row = 0; row < std::min(most, rows.size()); ++row) {
    const ServedConfiguration& found = answer.search.fitting[rows[row]];
    const serve::Prediction& prediction = found.prediction;
    std::vector<std::string> cells;
    if (ranks) cells.push_back(report::whole(static_cast<double>(row + 1)));
    cells.push_back(report::whole(found.layout.gpus()));
    cells.emplace_back(name_of(found.layout.precision));
    if (loads) cells.push_back(report::whole(real(found.requests.at_once)));
    if (!is_static(answer)) cells.push_back(report::whole(real(found.token_budget)));
    cells.push_back(report::significant(prediction.tokens_per_s_per_gpu));
    if (intervals) cells.push_back(throughput_range(answer, found));
    if (generates) {
      cells.push_back(time_of(prediction.ttft.mean));
      cells.push_back(prediction.tpot ? time_of(prediction.tpot->mean) : "-");
    }
    cells.push_back(time_of(prediction.latency.mean));
    cells.push_back(short_words(found.layout));
    table.add(cells);
  }
  return table.text(paint);
}

/// Users ask for these lengths; the search varies their number.
std::string load_words(const serve::Requests& requests) {
  const bool varied = requests.kind == serve::ArrivalKind::kBatch || requests.kind == serve::ArrivalKind::kClosed;
  if (!varied) return study::arrivals_words(requests);
  return study::lengths_words(requests);
}

std::string heading(const ServiceSearchAnswer& answer, const Paint& paint) {
  const serve::Service& service = answer.service;
  const study::ServiceSearch& search = answer.search;
  std::string text = paint.name(service.name) + '\n';
  std::string question = fmt::format("{} on {}, {}. {}.", service.model.name, service.cluster.name, service.engine.name,
                                     load_words(service.requests));
  for (const std::string& words : study::special_words(service)) question += fmt::format(" {}.", words);
  text += paint.paragraph("  ", question);
  std::string done = fmt::format("Tried {} of {}; {} did not fit.",
                                 report::counted(static_cast<double>(search.tried), "configuration"),
                                 report::counted(static_cast<double>(search.layouts), "layout"),
                                 report::whole(static_cast<double>(search.too_large)));
  if (search.splits_of_front_only)
    done += " Pools of their own for prompts and decoding had the degrees of the Pareto front only.";
  if (!search.complete) done += " The search was interrupted.";
  return text + paint.paragraph("  ", done);
}

std::string goal_words(const ServiceSearchAnswer& answer) {
  std::string words;
  if (answer.service.limits.any())
    words += fmt::format(" for {:.0f} % of requests within{}", 100 * answer.goal.share,
                         study::service_limits_words(answer.service.limits));
  if (answer.goal.least_per_gpu > 0)
    words += fmt::format("{} {} tokens/s/GPU or more", words.empty() ? " for" : " and",
                         report::significant(answer.goal.least_per_gpu));
  return words;
}

/// Says how many others are as good within the errors of predictions, by what the list is sorted by.
std::string near_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  const study::ServiceSearch& search = answer.search;
  const serve::Prediction& best = search.fitting[search.ranked.front()].prediction;
  const int gpus = search.fitting[search.ranked.front()].layout.gpus();
  const bool by_latency = answer.goal.lowest_latency || answer.service.requests.arrive_by_themselves();
  const auto near = std::count_if(search.ranked.begin() + 1, search.ranked.end(), [&](std::size_t at) {
    const ServedConfiguration& found = search.fitting[at];
    if (!by_latency) return found.prediction.tokens_per_s_per_gpu >= (1 - kNear) * best.tokens_per_s_per_gpu;
    return (answer.goal.lowest_latency || found.layout.gpus() == gpus) &&
           found.prediction.latency.mean <= (1 + kNear) * best.latency.mean;
  });
  if (near == 0) return "";
  return paint.paragraph(
      "  ", fmt::format(
                "{} within 10 % of the best {}. Predictions of services miss measured ones by as much: measure before "
                "you choose.",
                near == 1 ? "Another is" : fmt::format("{} others are", report::whole(static_cast<double>(near))),
                by_latency ? "latency" : "throughput"));
}

std::string launch_text(const ServiceSearchAnswer& answer, const ServedConfiguration& best, const Paint& paint) {
  const io::ServiceCommands commands = io::commands_of(service_of(answer, best));
  std::string text;
  for (const io::ServiceLaunch& launch : commands.launches) {
    const std::string times =
        launch.instances > 1 ? fmt::format(", {}", report::counted(launch.instances, "time")) : "";
    text += fmt::format("  Start{}{}:\n", launch.role.empty() ? "" : " " + launch.role, times);
    text += shell_lines(with_values(launch.words), 4, paint.columns());
  }
  if (!commands.remarks.empty())
    text += paint.paragraph("  ", fmt::format("Note: {}.", fmt::join(commands.remarks, "; ")));
  return text.empty() ? text : '\n' + text;
}

/// Says how far the means of the recommended service may be trusted.
std::string recommended_trust(const ServiceSearchAnswer& answer, const ServedConfiguration& best, const Paint& paint) {
  const study::ServiceTrust trusted = trust_of(answer, best);
  if (trusted.why_no_interval)
    return paint.paragraph("  90 %: ", fmt::format("unknown: {}.", *trusted.why_no_interval));
  std::vector<std::string> ranges;
  for (const auto& [quantity, interval] : trusted.intervals)
    ranges.push_back(fmt::format("{} {}", study::short_name(quantity), study::interval_words(quantity, interval)));
  std::string text = paint.paragraph("  90 %: ", fmt::format("{}.", fmt::join(ranges, ", ")));
  const trust::ServedInterval& founded = trusted.best_founded();
  if (founded.outside()) text += paint.paragraph("  Untried: ", fmt::format("{}.", fmt::join(founded.away, ", ")));
  return text + paint.paragraph("  Nearest: ", study::nearest_words(*trusted.nearest) + '.');
}

std::string recommended_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  const ServedConfiguration& best = answer.search.fitting[answer.search.ranked.front()];
  const serve::Prediction& prediction = best.prediction;
  std::string text = report::title_text("Recommended", "the first of the list", paint);
  std::string words = fmt::format("{}: {}", report::counted(best.layout.gpus(), "GPU"), layout_words(best.layout));
  if (answer.service.limits.any())
    words += fmt::format("; {:.0f} % of requests are within{}", 100 * best.share_within(),
                         study::service_limits_words(answer.service.limits));
  if (prediction.cost_per_million_tokens)
    words += fmt::format("; {} USD a million {}tokens", report::significant(*prediction.cost_per_million_tokens, 3),
                         answer.service.model.encoder ? "" : "output ");
  text += paint.paragraph("  ", words + '.') + recommended_trust(answer, best, paint) + near_text(answer, paint) + '\n';
  text += shell_lines(serve_command_of(answer, best), 4, paint.columns());
  return text + launch_text(answer, best, paint);
}

std::string numerics_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  const serve::WeightPrecision best = answer.search.fitting[answer.search.ranked.front()].layout.precision;
  if (best == answer.service.precision) return "";
  return paint.paragraph("  ", fmt::format("The best has weights in {}, which was searched on request. Precision "
                                           "changes the answers of a model: check their quality.",
                                           name_of(best)));
}

std::string front_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  constexpr std::size_t kShown = 12;
  const std::vector<std::size_t>& front = answer.search.front;
  if (front.size() < 2) return "";
  std::vector<report::ScatterPoint> points;
  for (const std::size_t at : front) {
    const serve::Prediction& prediction = answer.search.fitting[at].prediction;
    const double time = is_static(answer) || !prediction.tpot ? prediction.latency.mean : prediction.tpot->mean;
    points.push_back({time, prediction.tokens_per_s_per_gpu, '*'});
  }
  std::string text = report::title_text(
      "Pareto front", is_static(answer) ? "throughput and latency" : "throughput, TTFT and TPOT", paint);
  text += report::scatter_text(points, {is_static(answer) ? "latency" : "TPOT", [](double v) { return time_of(v); }},
                               {"tokens/s/GPU", [](double v) { return report::significant(v); }}, paint);
  const std::size_t every = (front.size() + kShown - 1) / kShown;
  std::vector<std::size_t> shown;
  for (std::size_t at = 0; at < front.size(); at += every) shown.push_back(front[at]);
  return text + table_text(answer, shown, shown.size(), false, paint);
}

std::string nothing_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  const study::ServiceSearch& search = answer.search;
  if (!search.nearest)
    return paint.paragraph("  ",
                           "No configuration fits in memory. Try more GPUs, a narrower precision (--precisions) "
                           "or shorter requests.");
  const ServedConfiguration& near = search.fitting[*search.nearest];
  std::string text = paint.paragraph(
      "  ", fmt::format("No configuration is found{}{}.", goal_words(answer),
                        answer.service.requests.arrive_by_themselves() ? " that keeps up with the requests" : ""));
  text += paint.paragraph(
      "  ", fmt::format("The nearest has {:.0f} % of requests within the limits, and {} tokens/s/GPU:",
                        100 * near.share_within(), report::significant(near.prediction.tokens_per_s_per_gpu)));
  return text + table_text(answer, {*search.nearest}, 1, false, paint);
}

}  // namespace

std::string service_search_text(const ServiceSearchAnswer& answer, const Paint& paint) {
  std::string text = heading(answer, paint), assumed;
  for (const std::string& line : assumptions_of(answer)) assumed += paint.paragraph("  assumed: ", line);
  if (answer.search.ranked.empty()) return text + nothing_text(answer, paint) + front_text(answer, paint) + assumed;
  const char* const order = answer.goal.lowest_latency ? "lowest latency" : "highest throughput a GPU";
  text += report::title_text(
      "Best",
      (answer.service.requests.arrive_by_themselves() && !answer.goal.lowest_latency ? "fewest GPUs" : order) +
          goal_words(answer),
      paint);
  text += table_text(answer, answer.search.ranked, answer.top, true, paint);
  text += front_text(answer, paint);
  return text + recommended_text(answer, paint) + numerics_text(answer, paint) + assumed;
}

}  // namespace foretoken::tools
