// Writes the validation as data: JSON with everything, CSV with a line for each comparison.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/text/csv.h"
#include "validate/split_text.h"
#include "validate/validate.h"

namespace foretoken::validate {
namespace {

using report::csv_field;
using Json = nlohmann::ordered_json;

Json json_of(const Spread& spread) {
  return {{"rows", spread.count},  {"mean", spread.mean}, {"median", spread.median}, {"p90", spread.p90},
          {"worst", spread.worst}, {"bias", spread.bias}, {"middle", spread.middle}};
}

Json json_of(const CaseResult& one) {
  Json values = Json::object();
  for (const Comparison& comparison : one.comparisons)
    values[std::string(key_of(comparison.quantity))] = {
        {"measured", comparison.measured}, {"predicted", comparison.predicted}, {"error", comparison.error()}};
  Json split = Json::object();
  for (const auto& [name, time] : split_parts(one.split)) split[std::string(name)] = time.value();
  return {{"id", one.row.id},         {"quality", one.row.quality},
          {"fitted", one.row.fitted}, {"model", one.model},
          {"gpus", one.gpus},         {"values", values},
          {"fits", one.fits},         {"out_of_memory", one.row.measured.out_of_memory},
          {"time_s", split}};
}

// Writes the number of rows whose step time lies in its 90 % interval.
Json json_of(const std::optional<Coverage>& coverage) {
  if (!coverage) return {};
  return {{"rows", coverage->rows},
          {"without_publication", coverage->without_publication},
          {"without_copies", coverage->without_copies},
          {"as_new_publication", coverage->as_new_publication},
          {"simulated_error", coverage->part(coverage->simulated_error)},
          {"headline_error", coverage->part(coverage->headline_error)}};
}

Json json_of(const SetResult& result) {
  Json errors = Json::object();
  for (const QuantityErrors& one : result.errors)
    errors[std::string(key_of(one.quantity))] = {{"all", json_of(one.all)}, {"untouched", json_of(one.untouched)}};
  Json cases = Json::array();
  for (const CaseResult& one : result.cases) cases.push_back(json_of(one));
  const Ranking& ranking = result.ranking;
  Json models = Json::array();
  for (const ModelRanking& one : ranking.models)
    models.push_back({{"model", one.model}, {"pairs", one.pairs}, {"tau", one.tau}});
  return {{"set", result.set.name},
          {"title", result.set.title},
          {"source", result.set.source},
          {"errors", errors},
          {"ranking",
           {{"pairs", ranking.pairs},
            {"tau", ranking.tau},
            {"models", models},
            {"lowest_model", ranking.lowest_model},
            {"lowest_tau", ranking.lowest_tau}}},
          {"coverage", json_of(result.coverage)},
          {"false_out_of_memory", result.false_out_of_memory},
          {"missed_out_of_memory", result.missed_out_of_memory},
          {"cases", cases}};
}

}  // namespace

std::string as_json(const Validation& validation) {
  Json sets = Json::array();
  for (const SetResult& result : validation.sets) sets.push_back(json_of(result));
  const std::optional<Intervals>& intervals = validation.intervals;
  Json publications = Json::object();
  if (intervals)
    for (const auto& [name, one] : intervals->publications) publications[name] = json_of(std::optional(one));
  return Json{{"sets", sets},
              {"publications", publications},
              {"coverage", intervals ? json_of(std::optional(intervals->all)) : Json()},
              {"broken_bounds", validation.broken}}
             .dump(1) +
         "\n";
}

std::string as_csv(const Validation& validation) {
  std::string text = "set,id,quality,fitted,gpus,quantity,measured,predicted,error,fits";
  for (const auto& [name, time] : split_parts({})) text += fmt::format(",{}_s", name);
  text += "\n";
  for (const SetResult& result : validation.sets)
    for (const CaseResult& one : result.cases)
      for (const Comparison& comparison : one.comparisons) {
        text += fmt::format("{},{},{},{},{},{},{},{},{:.6f},{}", csv_field(result.set.name), csv_field(one.row.id),
                            csv_field(one.row.quality), one.row.fitted, one.gpus, key_of(comparison.quantity),
                            comparison.measured, comparison.predicted, comparison.error(), one.fits);
        for (const auto& [name, time] : split_parts(one.split)) text += fmt::format(",{:.6f}", time.value());
        text += "\n";
      }
  return text;
}

}  // namespace foretoken::validate
