// Writes the answer of `foretoken whatif` as JSON and CSV.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/json.h"
#include "sim/report/text/csv.h"
#include "sim/study/reason.h"
#include "tools/text/json_csv.h"
#include "tools/text/whatif_text.h"

namespace foretoken::tools {
namespace {

using report::csv_field;
using Json = nlohmann::ordered_json;

Json knee_json(const study::Varied& key, const std::optional<study::Knee>& knee) {
  Json json = {{"key", key.key}};
  json["at"] = knee && knee->matters && !knee->more_pays ? Json(knee->value) : Json();
  json["matters"] = knee ? Json(knee->matters) : Json();
  json["larger_is_better"] = knee ? Json(knee->larger_is_better) : Json();
  json["gain_of_next_doubling"] = knee ? Json(knee->gain) : Json();
  return json;
}

Json row_json(const study::WhatIf& whatif, std::size_t index) {
  const study::WhatIfRow& row = whatif.rows[index];
  Json json;
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    json["set"][whatif.keys[k].key] = whatif.keys[k].values[row.choice[k]];
  json["best"] = whatif.best == index;
  json["impossible"] = row.metrics ? Json() : Json(study::reasons(row.impossible));
  if (row.metrics) {
    json["step_time_to_base"] = row.metrics->step_time / whatif.base.step_time;
    json["result"] = Json::parse(report::to_json(*row.metrics));
  }
  return json;
}

std::string csv_line(const std::vector<std::string>& choice, const report::Metrics& m, const report::Metrics& base) {
  std::string line;
  for (const std::string& value : choice) line += csv_field(value) + ',';
  line +=
      fmt::format("{},{},{},{},{},{:.0f},{:.0f},{},", m.step_time.value(), m.step_time / base.step_time, m.tokens_per_s,
                  m.mfu, m.bubble_fraction, m.memory.peak.value(), m.memory.capacity.value(), m.memory.fits);
  line += m.run ? fmt::format("{},{},", m.run->days, m.run->gpu_hours) : ",,";
  line += m.run && m.run->cost ? fmt::format("{},{},", *m.run->cost, csv_field(m.run->currency)) : ",,";
  return line + '\n';
}

}  // namespace

std::string whatif_json(const study::WhatIf& whatif) {
  Json json = {{"name", whatif.base.name}, {"base", Json::parse(report::to_json(whatif.base))}};
  json["vary"] = Json::array();
  for (const study::Varied& key : whatif.keys) json["vary"].push_back({{"key", key.key}, {"values", key.values}});
  json["rows"] = Json::array();
  for (std::size_t i = 0; i < whatif.rows.size(); ++i) json["rows"].push_back(row_json(whatif, i));
  json["knees"] = Json::array();
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    json["knees"].push_back(knee_json(whatif.keys[k], whatif.knees[k]));
  json["tornado"] = Json::array();
  for (const study::Sensitivity& each : whatif.tornado)
    json["tornado"].push_back({{"property", each.name},
                               {"belongs_to", each.belongs},
                               {"part", whatif.part},
                               {"smaller_step_time_s", each.smaller.value()},
                               {"larger_step_time_s", each.larger.value()}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string tornado_csv(const study::WhatIf& whatif) { return csv_of(Json::parse(whatif_json(whatif)).at("tornado")); }

std::string whatif_csv(const study::WhatIf& whatif) {
  std::string text;
  for (const study::Varied& key : whatif.keys) text += csv_field(key.key) + ',';
  text +=
      "step_time_s,step_time_to_base,tokens_per_s,mfu,bubble_fraction,peak_bytes,capacity_bytes,fits,days,"
      "gpu_hours,cost,currency,impossible\n";
  text += csv_line(std::vector<std::string>(whatif.keys.size()), whatif.base, whatif.base);
  for (const study::WhatIfRow& row : whatif.rows) {
    std::vector<std::string> choice;
    for (std::size_t k = 0; k < whatif.keys.size(); ++k) choice.push_back(whatif.keys[k].values[row.choice[k]]);
    if (row.metrics) {
      text += csv_line(choice, *row.metrics, whatif.base);
      continue;
    }
    for (const std::string& value : choice) text += csv_field(value) + ',';
    text += std::string(12, ',') + csv_field(study::reasons(row.impossible)) + '\n';
  }
  return text;
}

}  // namespace foretoken::tools
