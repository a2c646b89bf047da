// foretoken-fit serving: fits a GPU's laws of decode attention, and copies its small all-reduces, from tables of
// kernels (docs/modeller/costs.md).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "calibration/fit/laws/split_decode.h"
#include "calibration/fit/programs/programs.h"
#include "calibration/import/import.h"
#include "sim/base/error.h"

namespace foretoken::fit::serving_program {
namespace {

using Json = nlohmann::ordered_json;

double at_decimals(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

Json json_of(const cost::DecodeLaw& law, const std::string& source) {
  Json json{{"launch_us", at_decimals(law.launch.value() * 1e6, 2)},
            {"gb_per_s", at_decimals(law.bandwidth.value() * 1e-9, 1)},
            {"step_us", at_decimals(law.step.value() * 1e6, 3)},
            {"sharpness", at_decimals(law.sharpness, 3)}};
  if (law.fill.value() > 0) {
    json["fill_us"] = at_decimals(law.fill.value() * 1e6, 2);
    json["fill_mb"] = at_decimals(law.fill_bytes.value() * 1e-6, 2);
  }
  if (law.each_head) json["each_head"] = true;
  json.update({{"provenance", "fitted"},
               {"source", source},
               {"samples", law.evidence.samples},
               {"held_out", law.evidence.held_out},
               {"median_error", at_decimals(law.evidence.median_error, 4)},
               {"p90_error", at_decimals(law.evidence.p90_error, 4)}});
  return json;
}

Json json_of(const cost::EngineDecodeLaw& law, const std::string& source) {
  Json json{{"shared", {law.shared.low, law.shared.high}}, {"head_dims", {law.head_dims.low, law.head_dims.high}}};
  json.update(json_of(law.law, source));
  return json;
}

// Every second size of each number of ranks; the shipped files have these.
Json all_reduces(const measured::Samples& samples, cost::AllReduceKernels kernels) {
  std::map<int, std::map<double, double>> times;
  for (const measured::SmallAllReduceSample& sample : samples.small_all_reduces)
    if (measured::kernels_of(sample.implementation) == kernels)
      times[sample.ranks][sample.bytes.value()] = sample.time.median.value();
  Json tables = Json::array();
  for (const auto& [ranks, rows] : times) {
    Json bytes = Json::array(), us = Json::array();
    bool takes = true;
    for (const auto& [size, time] : rows) {
      if (takes) bytes.push_back(std::llround(size)), us.push_back(at_decimals(time * 1e6, 2));
      takes = !takes;
    }
    tables.push_back({{"ranks", ranks}, {"bytes", std::move(bytes)}, {"us", std::move(us)}});
  }
  return tables;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const cost::AllReduceKernels kernels : cost::kEngineKernels) names.emplace_back(name_of(kernels));
  return names;
}

struct DecodeTables {
  const measured::Samples& samples;
  BytesPerSecond bandwidth;
  std::string source;

  /// Returns the address of the tables, with the names of those that the rows come from.
  [[nodiscard]] std::string source_of(const DecodeRows& rows) const {
    std::set<std::string> names;
    for (const DecodeRow& row : rows) {
      const std::filesystem::path file = samples.origins[row.origin].source;
      names.insert((file.parent_path().filename() / file.filename()).string());
    }
    return fmt::format("{}: {}; rows from 1,024 cached tokens on", source, fmt::join(names, ", "));
  }
};

constexpr std::array<std::pair<const char*, cost::CacheKind>, 4> kCacheKeys{
    {{"cache_16_bit", cost::CacheKind::kWide},
     {"cache_8_bit", cost::CacheKind::kNarrow},
     {"latent", cost::CacheKind::kLatent},
     {"latent_8_bit", cost::CacheKind::kLatentNarrow}}};

/// An engine's only law is left out where the law of the GPU has at most so many times its misfit.
constexpr double kSameKernels = 1.1;

Json engine_laws(const DecodeTables& tables, const DecodeRows& rows, const std::optional<cost::DecodeLaw>& of_gpu) {
  const std::vector<cost::EngineDecodeLaw> own = split_decode(rows, tables.bandwidth);
  if (of_gpu && own.size() == 1 && decode_misfit(rows, *of_gpu) <= kSameKernels * decode_misfit(rows, own[0].law))
    return nullptr;
  Json laws = Json::array();
  for (const cost::EngineDecodeLaw& law : own) laws.push_back(json_of(law, tables.source_of(rows)));
  return laws;
}

cost::DecodeLaw law_from(const Json& json) {
  return {.launch = microseconds(json.at("launch_us").get<double>()),
          .bandwidth = gigabytes_per_second(json.at("gb_per_s").get<double>()),
          .step = microseconds(json.at("step_us").get<double>()),
          .sharpness = json.at("sharpness").get<double>()};
}

/// Returns the law of a GPU that the file has. Otherwise it is fitted on one engine's kernels, on TensorRT-LLM's where
/// the engine has no table of that kind of cache.
Json gpu_law_of(const DecodeTables& tables, const Json& file, const char* key, cost::CacheKind kind,
                const std::string& gpu_law) {
  if (file.contains(key)) return file.at(key);
  for (const std::string& engine : {gpu_law, std::string("trt-llm")}) {
    const DecodeChoice choice{.kind = kind, .engine = engine};
    if (const auto law = fit_decode(tables.samples, choice, tables.bandwidth))
      return json_of(*law, tables.source_of(decode_rows(tables.samples, choice)));
  }
  return nullptr;
}

Json decode_laws(const DecodeTables& tables, const Json& file, const std::string& gpu_law) {
  Json laws{{"kernels", gpu_law}}, engines = Json::object();
  for (const auto& [key, kind] : kCacheKeys) {
    std::optional<cost::DecodeLaw> of_gpu;
    if (Json law = gpu_law_of(tables, file, key, kind, gpu_law); !law.is_null()) {
      of_gpu = law_from(law);
      laws[key] = std::move(law);
    }
    for (const std::string& engine : engine_names()) {
      const DecodeRows rows = decode_rows(tables.samples, {.kind = kind, .engine = engine});
      if (rows.size() < kFewestDecodes) continue;
      if (Json own = engine_laws(tables, rows, of_gpu); !own.is_null()) engines[engine][key] = std::move(own);
    }
  }
  if (!engines.empty()) laws["engines"] = std::move(engines);
  return laws;
}

/// Returns whether every entry is a number, so that the list stands on one line.
bool is_flat(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& each) { return each.is_number(); });
}

/// Returns the JSON in the form of the shipped files: a key a line, and lists of numbers on one line.
std::string text_of(const Json& json, const std::string& indent = "") {
  if (!json.is_structured() || json.empty()) return json.dump();
  const bool flat = json.is_array() && is_flat(json);
  const std::string between = flat ? ", " : ",\n" + indent + "  ";
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += between;
    if (json.is_object()) text += Json(key).dump() + ": ";
    text += text_of(value, indent + "  ");
  }
  const std::string inner = flat ? text : "\n" + indent + "  " + text + "\n" + indent;
  return json.is_array() ? "[" + inner + "]" : "{" + inner + "}";
}

/// Returns the file with the new parts. The parts that no table gives stay.
Json merged(Json file, Json parts) {
  for (auto& [key, part] : parts.items()) file[key] = std::move(part);
  return file;
}

/// Returns the laws in proportion to the memory bandwidth, for a GPU with the same chip.
Json scaled(Json laws, double from, double to, const std::string& from_gpu) {
  if (laws.is_array())
    for (Json& each : laws) each = scaled(std::move(each), from, to, from_gpu);
  if (!laws.is_object()) return laws;
  if (!laws.contains("gb_per_s")) {
    for (auto& [key, each] : laws.items()) each = scaled(std::move(each), from, to, from_gpu);
    return laws;
  }
  Json law = Json::object();
  for (const auto& [key, value] : laws.items())
    if (key != "provenance" && key != "source" && !key.ends_with("_error") && key != "samples" && key != "held_out")
      law[key] = value;
  law["gb_per_s"] = at_decimals(law["gb_per_s"].get<double>() * to / from, 1);
  law["provenance"] = "scaled";
  law["scaled_from"] = from_gpu;
  law["source"] = fmt::format("the same chip; in proportion to the memory bandwidth, {} / {}", to, from);
  return law;
}

Json json_from(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be opened", file));
  return Json::parse(in);
}

measured::Samples samples_of(const std::vector<std::string>& files, const std::string& gpu_law) {
  measured::Samples samples;
  for (const std::string& file : files) {
    measured::Samples table = measured::import_any(file);
    measured::require_known_kernels(table, file);
    samples.append(std::move(table));
  }
  for (auto& sample : samples.decodes)
    if (sample.engine.empty()) sample.engine = gpu_law;
  return samples;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"Fits calibration/serving/GPU.json on tables of decode attention and of small all-reduces."};
  std::string gpu, source, gpu_law = "trt-llm", others, same_chip;
  double bandwidth = 0, chip_bandwidth = 0;
  std::vector<std::string> files;
  app.add_option("--gpu", gpu, "name of the GPU")->required();
  app.add_option("--gb-per-s", bandwidth, "memory bandwidth of the datasheet")->required();
  CLI::Option* const address = app.add_option("--source", source, "address and revision of the tables");
  app.add_option("--gpu-law", gpu_law, "engine whose decode kernels give the laws of the GPU: trt-llm, vllm or sglang")
      ->check(CLI::IsMember(engine_names()));
  app.add_option("--others", others, "file of the GPU; its laws of the GPU and parts that no table gives stay");
  CLI::Option* const scale =
      app.add_option("--scale", same_chip, "file of a GPU with the same chip; scales its decode attention");
  CLI::Option* const scale_rate =
      app.add_option("--scale-gb-per-s", chip_bandwidth, "memory bandwidth of that GPU")->check(CLI::PositiveNumber);
  CLI::Option* const rows = app.add_option("TABLES", files, "CSV, or CSV in gzip")->needs(address);
  scale->needs(scale_rate)->excludes(rows);
  scale_rate->needs(scale);
  CLI11_PARSE(app, argc, argv);
  if (files.empty() && same_chip.empty())
    throw ConfigError({{"TABLES", "", "expected tables and --source, or --scale"}});

  Json json{{"gpu", gpu}};
  if (!others.empty()) json = json_from(others);
  if (!same_chip.empty()) {
    const Json chip = json_from(same_chip);
    Json laws = scaled(chip.at("decode_attention"), chip_bandwidth, bandwidth, chip.at("gpu").get<std::string>());
    fmt::print("{}\n", text_of(merged(std::move(json), {{"decode_attention", std::move(laws)}})));
    return 0;
  }
  const measured::Samples samples = samples_of(files, gpu_law);
  const Json known = json.value("decode_attention", Json::object());
  Json laws = decode_laws({samples, BytesPerSecond(bandwidth * 1e9), source}, known, gpu_law);
  json = merged(std::move(json), {{"decode_attention", std::move(laws)}});
  for (const cost::AllReduceKernels kernels : cost::kEngineKernels)
    if (Json tables = all_reduces(samples, kernels); !tables.empty())
      json["small_all_reduce"][name_of(kernels)] = {{"source", source}, {"tables", std::move(tables)}};
  fmt::print("{}\n", text_of(json));
  return 0;
}

}  // namespace foretoken::fit::serving_program
