// Writes parts of the answer of `foretoken simulate`.
#include "tools/text/simulate_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/report/json.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string simulate_csv(const report::Metrics& metrics) {
  const Json all = Json::parse(report::to_json(metrics));
  Json row = Json::object();
  for (const char* key : {"name", "step_time_s", "step_time_s_interval", "tokens_per_s", "tokens_per_s_per_gpu",
                          "model_tflops_per_gpu", "mfu", "hfu", "bubble_fraction", "time_s"})
    row[key] = all.at(key);
  for (const char* key : {"peak_bytes", "capacity_bytes", "verdict"}) row["memory"][key] = all.at("memory").at(key);
  for (const char* key : {"tokens", "days", "gpu_hours", "cost", "currency"})
    row["run"][key] = all.at("run").is_object() ? all["run"].at(key) : Json();
  return csv_of(Json::array({row}));
}

std::string complaints_json(const ConfigError& error) {
  Json json = {{"error", error.what()}, {"complaints", Json::array()}};
  for (const Complaint& c : error.complaints()) {
    Json complaint = {{"file", c.file}, {"pointer", c.pointer}, {"message", c.message}};
    if (!c.option.empty()) complaint["option"] = c.option;
    json["complaints"].push_back(std::move(complaint));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::vector<report::Hint> next_commands(const std::string& asked, bool has_file, const report::Metrics& metrics) {
  constexpr double kLargeBubble = 0.1;
  const bool fits = metrics.memory.fits;
  std::vector<report::Hint> hints;
  const auto add = [&](std::string command, std::string use) { hints.push_back({std::move(command), std::move(use)}); };
  const std::string found = fits ? "faster configurations" : "configurations that fit";
  if (!has_file) {
    add(fmt::format("foretoken search {}", asked), found);
    add(fmt::format("foretoken search {} --write job.json", asked), "a file for explain");
  } else {
    if (!fits || metrics.bubble_fraction < kLargeBubble)
      add(fmt::format("foretoken search {} --free all", asked), found);
    add(fmt::format("foretoken explain {}", asked), "where the time goes");
    if (fits && metrics.bubble_fraction >= kLargeBubble)
      add(fmt::format("foretoken compare {}", asked), "schedules with smaller bubbles");
  }
  add(fmt::format("foretoken simulate {} --details", asked), "every number and assumption");
  return hints;
}

}  // namespace foretoken::tools
