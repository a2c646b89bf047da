// Writes the answer of a search as one line of JSON (docs/user/search.md).
#include <nlohmann/json.hpp>

#include "sim/report/json.h"
#include "tools/text/launch_line.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json overlap_json(const search::Candidate& candidate, const job::Overlap& overlap) {
  Json json;
  for (const auto& [name, member] : job::kOverlaps) json[std::string(name)] = overlap.*member;
  if (candidate.dispatcher) json["exchanges"] = overlap.exchanges;
  return json;
}

nlohmann::ordered_json more_keys_json(const search::Candidate& candidate) {
  Json json = Json::object();
  if (candidate.dispatcher) json["dispatcher"] = model::name_of(*candidate.dispatcher);
  if (candidate.encoder_pipeline > 0) json["encoder_pipeline"] = candidate.encoder_pipeline;
  if (!candidate.layers_per_stage.empty()) json["layers_per_stage"] = candidate.layers_per_stage;
  if (candidate.microbatch_group > 0) json["microbatch_group"] = candidate.microbatch_group;
  if (candidate.precision) json["precision"] = name_of(*candidate.precision);
  if (candidate.short_gradients) json["gradients_in_16_bit"] = true;
  for (std::size_t part = 0; part < candidate.offloads.size(); ++part)
    if (candidate.offloads[part]) json["offload"][std::string(job::kOffloadedParts[part].first)] = "cpu";
  return json;
}

nlohmann::ordered_json configuration_json(const study::FoundConfiguration& found) {
  const job::Job& s = found.scenario;
  Json json = {{"gpus", s.gpus}};
  for (const auto& [key, degree] : search::degrees_by_key(found.candidate)) json[std::string(key)] = degree;
  json["schedule"] = s.schedule.name;
  json["micro"] = s.batch.micro;
  json["sequence_parallel"] = s.parallelism.sequence_parallel;
  json["recompute"] = model::name_of(s.recompute.granularity);
  json["zero_stage"] = s.optimizer.zero_stage;
  json.update(more_keys_json(found.candidate));
  json["overlap"] = overlap_json(found.candidate, s.overlap);
  json["fits"] = found.outcome.fits;
  json["peak_bytes"] = found.outcome.peak.value();
  json["step_time_s"] = found.step_time.value();
  json["simulated_step_time_s"] = des::to_seconds(found.outcome.step_time).value();
  return json;
}

std::string search_json(const study::SearchAnswer& answer) {
  Json json = {{"name", answer.name},
               {"objective", name_of(answer.objective)},
               {"complete", answer.complete},
               {"searched", answer.searched},
               {"candidates",
                {{"considered", answer.considered},
                 {"decided", answer.decided},
                 {"invalid", answer.invalid},
                 {"too_large", answer.too_large}}}};
  json["ranked"] = Json::array();
  for (const study::FoundConfiguration& found : answer.ranked) {
    Json entry = {{"rank", json["ranked"].size() + 1}};
    entry.update(configuration_json(found));
    entry["step_time_s_interval"] = {found.metrics->interval->low.value(), found.metrics->interval->high.value()};
    entry["result"] = Json::parse(report::to_json(*found.metrics));
    json["ranked"].push_back(std::move(entry));
  }
  json["difference"] = {{"half", answer.difference.half},
                        {"nine_in_ten", answer.difference.nine_in_ten},
                        {"comparisons", answer.difference.comparisons},
                        {"runs", answer.difference.runs},
                        {"jobs", answer.difference.jobs},
                        {"where", answer.difference.where}};
  json["runner_up"] = answer.ranked.size() < 2 ? Json() : Json(study::why_runner_up_loses(answer));
  json["pareto"] = {{"axes", {name_of(answer.axes[0]), name_of(answer.axes[1])}}, {"points", Json::array()}};
  for (const study::FoundConfiguration& found : answer.front)
    json["pareto"]["points"].push_back(configuration_json(found));
  json["nearest_misses"] = Json::array();
  for (const study::FoundConfiguration& found : answer.smallest)
    json["nearest_misses"].push_back(configuration_json(found));
  json["impossible_sizes"] = Json::array();
  for (const study::SizeWithout& size : answer.without)
    json["impossible_sizes"].push_back({{"gpus", size.gpus}, {"reason", size.why}});
  json["winner"] = Json();
  if (!answer.ranked.empty()) json["winner"] = launch_line_json(answer.ranked[0]);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace foretoken::tools
