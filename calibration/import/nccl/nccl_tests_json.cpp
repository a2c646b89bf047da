// Reads nccl-tests' JSON: {version, args, env, nccl_version, config: {devices}, results: [...], out_of_bounds}.
#include "calibration/import/nccl/nccl_tests_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "sim/io/json/parse_json.h"

namespace foretoken::measured {
namespace {

using Json = nlohmann::json;

/// Reads one file. Every problem becomes a complaint with its pointer.
class Reader {
 public:
  Reader(const Json& json, std::string file) : json_(json), file_(std::move(file)) {}

  Samples read(const NcclTestsHints& hints) {
    run_.where = file_;
    for (const Json& argument : list(json_, "/args"))
      if (argument.is_string() && !run_.collective)
        run_.collective = collective_of_program(argument.get<std::string>());
    facts();
    devices();
    rows();
    const Json& okay = at("/out_of_bounds/okay");
    if (okay.is_string() && okay != "true") complain("/out_of_bounds", "the run's results are wrong");
    if (complaints_.empty()) add_run(run_, hints, file_, samples_, complaints_);
    if (!complaints_.empty()) throw ConfigError(complaints_.listed());
    return std::move(samples_);
  }

 private:
  [[nodiscard]] const Json& at(const std::string& pointer) const {
    const Json::json_pointer where(pointer);
    return json_.contains(where) ? json_[where] : null_;
  }
  [[nodiscard]] const Json& list(const Json& from, const std::string& pointer) const {
    const Json::json_pointer where(pointer);
    return from.contains(where) && from[where].is_array() ? from[where] : empty_;
  }

  void facts() {
    if (at("/nccl_version").is_number_integer()) run_.facts.emplace_back("nccl", at("/nccl_version").dump());
    if (at("/start_time").is_string()) run_.facts.emplace_back("date", at("/start_time").get<std::string>());
    const Json& iterations = at("/config/iterations");
    constexpr std::uint64_t kMost = 1'000'000'000;
    if (iterations.is_number_unsigned())
      run_.iterations = static_cast<int>(std::min(iterations.get<std::uint64_t>(), kMost));
    for (const Json& entry : list(json_, "/env"))
      if (entry.is_string() && entry.get<std::string>().starts_with("NCCL_"))
        run_.facts.emplace_back("environment", entry.get<std::string>());
  }

  void devices() {
    const Json& devices = list(json_, "/config/devices");
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Json& device = devices[i];
      const bool whole = device.is_object() && device.contains("rank") && device["rank"].is_number_integer() &&
                         device.contains("hostname") && device["hostname"].is_string();
      if (!whole) {
        complain(fmt::format("/config/devices/{}", i), "expected rank and hostname");
        continue;
      }
      run_.devices.push_back({.rank = device["rank"].get<int>(),
                              .group = device.contains("group") ? device.value("group", 0) : 0,
                              .host = device["hostname"].get<std::string>(),
                              .gpu = device.value("device_info", std::string())});
    }
  }

  void rows() {
    const Json& results = list(json_, "/results");
    if (results.empty()) complain("/results", "expected an array of measured rows: is this a file of nccl-tests -J?");
    for (std::size_t i = 0; i < results.size(); ++i) row(results[i], fmt::format("/results/{}", i));
  }

  void row(const Json& json, const std::string& pointer) {
    if (!json.is_object() || !json.contains("size") || !json["size"].is_number_unsigned()) {
      complain(pointer + "/size", "expected a number of bytes");
      return;
    }
    NcclRow row{
        .where = fmt::format("{}: {}", file_, pointer), .bytes = json["size"].get<double>(), .type = {}, .results = {}};
    if (json.contains("type") && json["type"].is_string()) row.type = json["type"].get<std::string>();
    result(json, "out_of_place", pointer, row);
    result(json, "in_place", pointer, row);
    if (row.results.empty() && complaints_.empty()) complain(pointer, "neither out_of_place nor in_place");
    run_.rows.push_back(std::move(row));
  }

  void result(const Json& json, const std::string& place, const std::string& pointer, NcclRow& row) {
    if (!json.contains(place) || json[place].is_null()) return;
    const Json& block = json[place];
    const std::string here = pointer + "/" + place;
    if (!block.is_object()) return complain(here, "expected an object");
    if (block.contains("cpu_time")) return complain(here, "these are CPU times: run nccl-tests without -C");
    for (const char* key : {"time", "alg_bw", "bus_bw"})
      if (!block.contains(key) || !block[key].is_number()) return complain(here + "/" + key, "expected a number");
    if (block.contains("nwrong") && block["nwrong"].is_number() && block["nwrong"].get<double>() != 0)
      return complain(here + "/nwrong", "the run's results are wrong");
    constexpr double kStep = 1e-6;  // nccl-tests prints "%lf": six decimals
    row.results.push_back({.in_place = place == "in_place",
                           .time_us = block["time"].get<double>(),
                           .algorithm_gb_per_s = block["alg_bw"].get<double>(),
                           .bus_gb_per_s = block["bus_bw"].get<double>(),
                           .time_step_us = kStep,
                           .rate_step_gb_per_s = kStep});
  }

  void complain(const std::string& pointer, const std::string& message) {
    complaints_.push_back({file_, pointer, message});
  }

  const Json& json_;
  std::string file_;
  const Json null_ = nullptr;
  const Json empty_ = Json::array();
  NcclRun run_;
  Samples samples_;
  Complaints complaints_;
};

}  // namespace

Samples parse_nccl_tests_json(std::string_view text, const std::string& file, const NcclTestsHints& hints) {
  io::Findings findings;
  const std::optional<Json> json = io::parse_json(text, file, findings);
  if (!json)
    throw ConfigError({{file, "", fmt::format("cut short or broken: {}", findings.complaints.front().message)}});
  if (!json->is_object()) throw ConfigError({{file, "", "expected an object as nccl-tests -J writes it"}});
  return Reader(*json, file).read(hints);
}

}  // namespace foretoken::measured
