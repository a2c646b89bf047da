// Writes the answer of a search of services as one line of JSON (docs/user/serve.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/io/export/serve/launch_service.h"
#include "tools/options/command_line.h"
#include "tools/text/serve/serve_text.h"
#include "tools/text/serve/service_search_text.h"

namespace foretoken::tools {
namespace {

using SearchJson = nlohmann::ordered_json;

bool is_batch(const serve::Service& service) { return service.requests.kind == serve::ArrivalKind::kBatch; }

bool has_users(const serve::Service& service) { return service.requests.kind == serve::ArrivalKind::kClosed; }

void add_layout(const study::ServiceLayout& layout, SearchJson& json) {
  json["gpus"] = layout.gpus();
  if (layout.disaggregated) {
    json["disaggregated"] = {{"prefill", pool_json(layout.disaggregated->prefill)},
                             {"decode", pool_json(layout.disaggregated->decode)}};
  } else {
    json["instances"] = layout.pool.instances();
    json["parallelism"] = degrees_json(layout.pool.degrees);
  }
  json["precision"] = name_of(layout.precision);
}

/// Degrees as a command states them: those that are not 1, and tensor.
SearchJson degrees_set(const serve::Degrees& degrees) {
  const SearchJson all = degrees_json(degrees);
  SearchJson json;
  for (const auto& [key, degree] : all.items())
    if (degree != 1 || key == "tensor") json[key] = degree;
  return json;
}

SearchJson launch_json(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found) {
  const io::ServiceCommands commands = io::commands_of(service_of(answer, found));
  SearchJson json = {{"commands", SearchJson::array()}, {"remarks", commands.remarks}};
  for (const io::ServiceLaunch& launch : commands.launches) {
    SearchJson one;
    if (!launch.role.empty()) one["role"] = launch.role;
    one["instances"] = launch.instances;
    one["words"] = launch.words;
    json["commands"].push_back(std::move(one));
  }
  return json;
}

SearchJson configuration_json(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found) {
  const serve::Prediction& prediction = found.prediction;
  SearchJson json;
  add_layout(found.layout, json);
  if (is_batch(answer.service)) json["batch"] = found.requests.at_once;
  if (has_users(answer.service)) json["concurrency"] = found.requests.at_once;
  if (answer.service.batching == serve::Batching::kContinuous) json["chunked_prefill"] = found.token_budget;
  json.update(answer_json(prediction));
  json["share_within_limits"] = answer.service.limits.any() ? SearchJson(found.share_within()) : SearchJson();
  json["preemptions"] = prediction.preemptions;
  json["interval"] = interval_json(trust_of(answer, found));
  json["command"] = fmt::format("{}", fmt::join(serve_command_of(answer, found), " "));
  return json;
}

SearchJson limit_json(const std::optional<double>& limit) { return limit ? SearchJson(*limit) : SearchJson(); }

SearchJson goal_json(const ServiceSearchAnswer& answer) {
  const serve::Limits& limits = answer.service.limits;
  return {{"objective", answer.goal.lowest_latency ? "latency" : "throughput"},
          {"ttft_s", limit_json(limits.ttft_s)},
          {"tpot_s", limit_json(limits.tpot_s)},
          {"latency_s", limit_json(limits.latency_s)},
          {"share_within_limits", answer.goal.share},
          {"tokens_per_s_per_gpu", answer.goal.least_per_gpu}};
}

}  // namespace

serve::Service service_of(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found) {
  serve::Service service = answer.service;
  found.layout.apply_to(service);
  const auto trace = std::move(service.requests.trace);
  service.requests = found.requests;
  service.requests.trace = trace;
  service.engine.token_budget = found.token_budget;
  return service;
}

study::ServiceTrust trust_of(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found) {
  return study::trust_of(service_of(answer, found), found.prediction, answer.evidence);
}

std::vector<std::string> assumptions_of(const ServiceSearchAnswer& answer) {
  const std::vector<std::size_t>& ranked = answer.search.ranked;
  std::vector<std::string> assumptions = serve::assumptions_of(
      ranked.empty() ? answer.service : service_of(answer, answer.search.fitting[ranked.front()]));
  std::erase_if(assumptions, [&](const std::string& line) {
    return std::find(answer.varied.begin(), answer.varied.end(), line) != answer.varied.end();
  });
  return assumptions;
}

std::vector<std::string> serve_command_of(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found) {
  std::vector<std::string> command = with_values(answer.question);
  command.front().insert(0, "foretoken serve ");
  const auto set = [&](const std::string& assignment) { command.push_back("--set " + shell_word(assignment)); };
  for (const std::string& given : answer.sets) set(given);
  const study::ServiceLayout& layout = found.layout;
  set("gpus=" + std::to_string(layout.gpus()));
  set("parallelism=" + (layout.disaggregated ? "null" : degrees_set(layout.pool.degrees).dump()));
  if (answer.service.disaggregated) set("disaggregated=null");
  if (layout.disaggregated)
    for (const auto& [name, pool] :
         {std::pair("prefill", layout.disaggregated->prefill), {"decode", layout.disaggregated->decode}}) {
      const std::string key = std::string("disaggregated.") + name;
      set(fmt::format("{}.gpus={}", key, pool.gpus));
      set(fmt::format("{}.parallelism={}", key, degrees_set(pool.degrees).dump()));
    }
  set("precision=" + std::string(name_of(layout.precision)));
  if (is_batch(answer.service)) set("requests.batch=" + std::to_string(found.requests.at_once));
  if (has_users(answer.service)) set("requests.concurrency=" + std::to_string(found.requests.at_once));
  if (answer.service.batching == serve::Batching::kContinuous && answer.service.engine.chunks_prompts)
    set("chunked_prefill=" + std::to_string(found.token_budget));
  const serve::Limits& limits = answer.service.limits;
  for (const auto& [option, limit] :
       {std::pair("--ttft", limits.ttft_s), {"--tpot", limits.tpot_s}, {"--latency", limits.latency_s}})
    if (limit) command.push_back(fmt::format("{} {}s", option, *limit));
  return command;
}

std::string service_search_json(const ServiceSearchAnswer& answer) {
  const study::ServiceSearch& search = answer.search;
  SearchJson json = {{"name", answer.service.name},
                     {"model", answer.service.model.name},
                     {"cluster", answer.service.cluster.name},
                     {"engine", answer.service.engine.name},
                     {"goal", goal_json(answer)},
                     {"complete", search.complete},
                     {"candidates",
                      {{"layouts", search.layouts},
                       {"tried", search.tried},
                       {"too_large", search.too_large},
                       {"within_goal", search.ranked.size()}}}};
  const auto entry = [&](std::size_t at) { return configuration_json(answer, search.fitting[at]); };
  json["recommended"] = SearchJson();
  if (!search.ranked.empty()) {
    json["recommended"] = entry(search.ranked.front());
    json["recommended"]["launch"] = launch_json(answer, search.fitting[search.ranked.front()]);
  }
  json["ranked"] = SearchJson::array();
  for (std::size_t rank = 0; rank < std::min(answer.top, search.ranked.size()); ++rank) {
    SearchJson row = {{"rank", rank + 1}};
    row.update(entry(search.ranked[rank]));
    json["ranked"].push_back(std::move(row));
  }
  const bool is_static = answer.service.batching == serve::Batching::kStatic;
  json["pareto"] = {{"axes", is_static ? SearchJson{"tokens_per_s_per_gpu", "latency_s"}
                                       : SearchJson{"tokens_per_s_per_gpu", "ttft_s", "tpot_s"}},
                    {"points", SearchJson::array()}};
  for (const std::size_t at : search.front) json["pareto"]["points"].push_back(entry(at));
  json["nearest_miss"] = search.nearest ? entry(*search.nearest) : SearchJson();
  json["interval"] = json["recommended"].is_null() ? SearchJson() : json["recommended"]["interval"];
  json["nearest"] =
      search.ranked.empty() ? SearchJson() : nearest_json(trust_of(answer, search.fitting[search.ranked.front()]));
  std::vector<std::string> assumptions = assumptions_of(answer);
  const std::vector<std::string>& numbers = answer.service.engine.notes;
  assumptions.insert(assumptions.end(), numbers.begin(), numbers.end());
  json["assumptions"] = assumptions;
  json["warnings"] = answer.service.notes.warnings;
  return json.dump(-1, ' ', false, SearchJson::error_handler_t::replace) + '\n';
}

}  // namespace foretoken::tools
