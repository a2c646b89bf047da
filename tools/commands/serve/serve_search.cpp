// Turns options into a search of services, runs it, and prints the answer.
#include "tools/commands/serve/serve_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/serve/served_residuals.h"
#include "sim/serve/kernels.h"
#include "sim/serve/pool_rules.h"
#include "sim/study/serve/search_service.h"
#include "tools/options/search_values.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/json_csv.h"
#include "tools/text/serve/service_search_text.h"
#include "tools/text/simulate_text.h"

namespace foretoken::tools {
namespace serve_search {
namespace {

using serve::ArrivalKind;
using serve::Service;

constexpr int kMostThreads = 256, kMostTop = 10'000;

[[noreturn]] void refuse_option(const std::string& option, const std::string& message) {
  throw ConfigError({{option, "", message}});
}

std::vector<std::int64_t> numbers(const char* option, const char* things, const std::string& text) {
  if (text.empty()) return {};
  const std::vector<int> sizes = parse_sizes(option, things, text);
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> loads_of(const Service& service, const ServeSearchOptions& options) {
  const ArrivalKind kind = service.requests.kind;
  if (!options.concurrency.empty() && kind != ArrivalKind::kClosed)
    refuse_option("--concurrency", "expected a question with requests.concurrency; this one has other arrivals");
  if (!options.batch.empty() && kind != ArrivalKind::kBatch)
    refuse_option("--batch", "expected a question with requests.batch; this one has other arrivals");
  if (kind == ArrivalKind::kBatch) return numbers("--batch", "requests", options.batch);
  const std::vector<std::int64_t> users = numbers("--concurrency", "users", options.concurrency);
  if (service.requests.states_count && !users.empty() && users.back() > service.requests.count)
    refuse_option("--concurrency", fmt::format("expected at most {} users, the requests that the question counts",
                                               service.requests.count));
  return users;
}

std::vector<serve::WeightPrecision> precisions_of(const Service& service, const ServeSearchOptions& options) {
  std::vector<std::string> names;
  for (const serve::WeightPrecision precision : serve::kWeightPrecisions) names.emplace_back(name_of(precision));
  std::vector<serve::WeightPrecision> precisions;
  for (const std::string& word : options.precisions) {
    const std::string option = "--precisions " + printable(word, 60);
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
      refuse_option(option, fmt::format("expected {}{}", either(names), did_you_mean(word, names)));
    const serve::WeightPrecision precision =
        serve::kWeightPrecisions.at(static_cast<std::size_t>(found - names.begin()));
    if (const auto reason = serve::why_not(precision, service)) refuse_option(option, *reason);
    if (const auto reason = serve::why_no_backend(precision, service)) refuse_option(option, "moe.backend: " + *reason);
    if (std::find(precisions.begin(), precisions.end(), precision) == precisions.end()) precisions.push_back(precision);
  }
  return precisions;
}

study::FixedDegrees fixed_of(const ServeSearchOptions& options) {
  study::FixedDegrees fixed;
  const std::array<std::pair<std::string, std::optional<int>*>, 4> degrees{
      {{"parallelism.tensor", &fixed.tensor},
       {"parallelism.pipeline", &fixed.pipeline},
       {"parallelism.expert", &fixed.expert},
       {"parallelism.attention_data", &fixed.attention_data}}};
  for (const std::string& text : options.fixes) {
    const std::size_t sign = text.find('=');
    const std::string key = text.substr(0, sign);
    const auto* const found =
        std::find_if(degrees.begin(), degrees.end(), [&](const auto& degree) { return degree.first == key; });
    const auto value = sign == std::string::npos
                           ? std::nullopt
                           : parse_number<int>(std::string_view(text).substr(sign + 1), 1, 1 << 16);
    if (found == degrees.end() || !value)
      refuse_option("--fix " + printable(text, 60),
                    "expected parallelism.tensor, .pipeline, .expert or .attention_data, and a whole number: "
                    "parallelism.tensor=8");
    *found->second = value;
  }
  return fixed;
}

std::vector<std::int64_t> budgets_of(const Service& service, const ServeSearchOptions& options) {
  if (options.chunks.empty()) return {};
  if (service.batching == serve::Batching::kStatic || !service.engine.chunks_prompts)
    refuse_option("--chunks", fmt::format("expected an engine that cuts prompts; {} does not", service.engine.name));
  std::vector<std::int64_t> budgets = numbers("--chunks", "tokens of a pass", options.chunks);
  const int checked = service.speculation ? service.speculation->tokens + 1 : 1;
  if (budgets.front() < checked)
    refuse_option("--chunks", fmt::format("expected at least {} tokens, those that speculation checks", checked));
  return budgets;
}

// Returns why no layout is valid.
std::string why_no_layout(const Service& service, const study::ServiceSpace& space) {
  const study::FixedDegrees& fixed = space.fixed;
  const serve::Degrees degrees{.tensor = fixed.tensor.value_or(1),
                               .pipeline = fixed.pipeline.value_or(1),
                               .expert = fixed.expert.value_or(1),
                               .attention_data = fixed.attention_data.value_or(1)};
  for (const serve::PoolFault& fault : serve::faults_of(service, {.gpus = degrees.gpus(), .degrees = degrees}))
    if (fault.key != "gpus") return fmt::format("no layout is valid: parallelism.{}: {}", fault.key, fault.text);
  return fmt::format(
      "no layout is valid: its degrees must divide the GPUs, the {} heads of {} and whole nodes of {} "
      "GPUs",
      service.model.heads, service.model.name, service.cluster.gpus_per_node);
}

study::ServiceSpace space_of(const Service& service, const ServeSearchOptions& options) {
  study::ServiceSpace space{.gpus = {},
                            .precisions = precisions_of(service, options),
                            .loads = loads_of(service, options),
                            .token_budgets = budgets_of(service, options),
                            .fixed = fixed_of(options),
                            .splits = !options.no_split};
  if (!options.gpus.empty()) space.gpus = parse_gpus(options.gpus);
  return space;
}

int threads_of(const ServeSearchOptions& options) {
  return options.threads > 0 ? options.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::string printed(const ServiceSearchAnswer& answer, Form form, const std::string& colour) {
  if (form == Form::kText) return service_search_text(answer, page_paint(colour));
  if (form == Form::kCsv && answer.search.ranked.empty()) return "";
  const std::string json = service_search_json(answer);
  return form == Form::kJson ? json : csv_of(nlohmann::ordered_json::parse(json).at("ranked"));
}

}  // namespace
}  // namespace serve_search

void add_serve_search_options(CLI::App& command, CLI::Option* search, ServeSearchOptions& options) {
  using namespace serve_search;
  const auto add = [&](const char* name, auto& value, const char* about, const char* type) {
    return command.add_option(name, value, about)->needs(search)->allow_extra_args(false)->type_name(type);
  };
  const auto add_load = [&](const char* name, std::string& value, const char* about) {
    command.add_option(name, value, about)->allow_extra_args(false)->type_name("N|SIZES");
  };
  add_load("--gpus", options.gpus, "GPUs of the service; a search tries several: 4,8, or 2:16:x2");
  add_load("--concurrency", options.concurrency, "Users at once; a search tries several (powers of two up to 1024)");
  add_load("--batch", options.batch, "Requests of a static batch; a search tries several (powers of two up to 1024)");
  add("--chunks", options.chunks, "Try these tokens a pass (the engine's, 512, 2048, 8192 and 16384)", "SIZES");
  add("--precisions", options.precisions, "Try weights in these precisions: bf16,fp8,nvfp4", "NAME,...")
      ->delimiter(',');
  add("--fix", options.fixes, "Hold a degree: --fix parallelism.tensor=8; may be repeated", "KEY=VALUE");
  command.add_flag("--no-split", options.no_split, "Try no pools of their own for prompts and for decoding")
      ->needs(search);
  add("--objective", options.objective, "Want the most throughput a GPU, or the lowest latency", "throughput|latency")
      ->check(one_of({"throughput", "latency"}));
  add("--throughput", options.throughput, "Want at least so many output tokens/s a GPU", "N")
      ->check(number_between(0, 1e9));
  add("--share", options.share, "Percentage of requests that must be within --ttft, --tpot and --latency (90)", "N")
      ->check(whole_number(1, 100));
  add("--top", options.top, "List this many configurations (10)", "N")->check(whole_number(1, kMostTop));
  add("--threads", options.threads, "Number of threads (all cores)", "N")->check(whole_number(1, kMostThreads));
  add("--chart", options.chart, "Draw throughput against time as an SVG file", "FILE");
}

int search_services(const serve::Service& service, const ServeSearchOptions& options, Form form,
                    const std::string& colour, const std::vector<std::string>& question,
                    const std::vector<std::string>& sets, const std::vector<std::string>& varied) {
  using namespace serve_search;
  const study::ServiceSpace space = space_of(service, options);
  const study::ServiceGoal goal{.share = options.share / 100.0,
                                .least_per_gpu = options.throughput,
                                .lowest_latency = options.objective == "latency"};
  const std::unique_ptr<OutputFile> chart =
      options.chart.empty() ? nullptr : std::make_unique<OutputFile>(options.chart);
  LongWork work("layouts", true);
  const study::ServiceSearch search = study::search_service(service, space, goal, threads_of(options), work.watch());
  work.end();
  if (search.layouts == 0 && search.complete) refuse_option("--search", why_no_layout(service, space));
  const trust::ServedEvidence evidence = io::read_shipped_served_residuals();
  const ServiceSearchAnswer answer{.service = service,
                                   .search = search,
                                   .evidence = evidence,
                                   .goal = goal,
                                   .top = static_cast<std::size_t>(options.top),
                                   .question = question,
                                   .sets = sets,
                                   .varied = varied};
  if (chart && !search.fitting.empty()) {
    chart->write(service_search_svg(answer));
    chart->commit();
  }
  print(printed(answer, form, colour));
  return work.status(search.ranked.empty() ? kRefused : 0);
}

}  // namespace foretoken::tools
